"""A server of gRPC on grpcio, with reflection: cart.py [CERTIFICATE KEY], at the port of $PORT or any.

Its messages are described here by hand, as cart.proto and common/item.proto describe them.
"""

import os
import sys
import threading
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from grpc_reflection.v1alpha import reflection

ITEM = """
name: "common/item.proto" package: "shop" syntax: "proto3"
enum_type { name: "Size" value { name: "UNKNOWN" number: 0 } value { name: "LARGE" number: 2 } }
message_type {
  name: "Item"
  field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "count" number: 2 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "size" number: 3 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".shop.Size" }
  field { name: "tags" number: 4 label: LABEL_REPEATED type: TYPE_STRING }
  field { name: "seen" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".shop.Item.SeenEntry" }
  nested_type {
    name: "SeenEntry" options { map_entry: true }
    field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
  }
}
"""
CART = """
name: "cart.proto" package: "shop" syntax: "proto3" dependency: "common/item.proto"
service {
  name: "Cart"
  method { name: "Add" input_type: ".shop.Item" output_type: ".shop.Item" }
  method { name: "List" input_type: ".shop.Item" output_type: ".shop.Item" server_streaming: true }
  method { name: "Put" input_type: ".shop.Item" output_type: ".shop.Item" client_streaming: true }
  method { name: "Talk" input_type: ".shop.Item" output_type: ".shop.Item" client_streaming: true server_streaming: true }
}
"""

pool = descriptor_pool.DescriptorPool()
for text in (ITEM, CART):
    pool.Add(text_format.Parse(text, descriptor_pb2.FileDescriptorProto()))
Item = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Item"))


def add(item, context):
    if item.id == "absent":
        context.abort(grpc.StatusCode.NOT_FOUND, "no größe of 100%\n")
    if item.id == "slow":
        # Until the call is over: the deadline is the client's.
        over = threading.Event()
        if context.add_callback(over.set):
            over.wait()
    seen = {key: value for key, value in context.invocation_metadata() if key.startswith("x-")}
    context.set_trailing_metadata((("x-added", str(item.count)),))
    return Item(id=item.id, count=2 * item.count, size=item.size, tags=item.tags, seen=seen)


def items(item, context):
    for number in range(item.count):
        yield Item(id=item.id, count=number + 1)


def put(items, context):
    return Item(count=sum(item.count for item in items))


def talk(items, context):
    yield from items


def handlers():
    coded = {"request_deserializer": Item.FromString, "response_serializer": Item.SerializeToString}
    return grpc.method_handlers_generic_handler("shop.Cart", {
        "Add": grpc.unary_unary_rpc_method_handler(add, **coded),
        "List": grpc.unary_stream_rpc_method_handler(items, **coded),
        "Put": grpc.stream_unary_rpc_method_handler(put, **coded),
        "Talk": grpc.stream_stream_rpc_method_handler(talk, **coded),
    })


def main(files):
    address = f"127.0.0.1:{os.environ.get('PORT', 0)}"
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((handlers(),))
    reflection.enable_server_reflection(["shop.Cart", reflection.SERVICE_NAME], server, pool)
    if files:
        certificate, key = (open(file, "rb").read() for file in files)
        port = server.add_secure_port(address, grpc.ssl_server_credentials([(key, certificate)]))
    else:
        port = server.add_insecure_port(address)
    server.start()
    print(f"listening on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
    server.wait_for_termination()


main(sys.argv[1:])
