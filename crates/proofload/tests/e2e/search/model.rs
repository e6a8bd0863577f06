//! A user's model that the library cannot read, and a folder that was filled with another embedding.

use serde_json::json;

use crate::lab::Lab;

/// Writes a model whose tokenizer has a word without a vector.
fn torn(lab: &Lab) -> String {
    let folder = lab.path("model");
    std::fs::create_dir_all(&folder).expect("a folder");
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "post_processor": null,
        "normalizer": null, "pre_tokenizer": { "type": "BertPreTokenizer" }, "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": { "[UNK]": 0, "crane": 1, "forklift": 2 } },
    });
    let header =
        json!({ "embeddings": { "dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16] } });
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    let vectors = [[1_f32, 0.0], [0.0, 1.0]].concat().into_iter().flat_map(f32::to_le_bytes);
    let tensors: Vec<u8> = length.into_iter().chain(header.into_bytes()).chain(vectors).collect();
    let files = [
        ("tokenizer.json", tokenizer.to_string().into_bytes()),
        ("config.json", b"{}".to_vec()),
        ("model.safetensors", tensors),
    ];
    for (name, content) in files {
        std::fs::write(folder.join(name), content).expect("writes");
    }
    folder.display().to_string()
}

#[test]
fn a_model_that_makes_its_library_panic_is_a_fault_of_its_folder() {
    let lab = Lab::new();
    let model = torn(&lab);
    let settings = [format!("model={model}"), format!("path={}", lab.path("kept").display())];
    let ran = lab.proofload(&["serve", "search", "--set", &settings[0], "--set", &settings[1]]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let told =
        format!("the model in {model} cannot be used: its tokenizer does not fit its vectors");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: `model` is a folder with"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("a bug in"), "{}", ran.stderr);
}

#[test]
fn a_folder_of_another_seed_says_how_to_start_with_it() {
    let lab = Lab::new();
    let path = format!("path={}", lab.path("kept").display());
    {
        let (_served, ready) = crate::lab::server::bundled("search", &[&path, "workers=5"]);
        assert_eq!(ready["effective"]["rows"], 5);
    }
    for other in ["seed=2", "dimension=64"] {
        let ran = lab.proofload(&["serve", "search", "--set", &path, "--set", other]);
        assert_eq!(ran.code, 4, "{ran:?}");
        let hint = "hint: start with the seed, dimension or model that it was made with, or with another folder";
        assert!(ran.stderr.contains(hint), "{other}: {}", ran.stderr);
    }
}
