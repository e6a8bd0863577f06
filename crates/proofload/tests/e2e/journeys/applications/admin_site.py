"""Django's own admin site over SQLite, with one superuser: ada, password "engine".

`python admin_site.py` makes the database in the current folder; gunicorn serves `admin_site:application`.
"""

import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application

settings.configure(
    SECRET_KEY="for tests",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    STATIC_URL="static/",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.path.abspath("db.sqlite3"),
            # Writers wait for each other instead of failing.
            "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=wal"},
        }
    },
    # Django's own choice takes a processor a third of a second for each login.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
    ],
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
application = get_wsgi_application()

from django.contrib import admin  # noqa: E402  (needs the settings)
from django.urls import path  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]

if __name__ == "__main__":
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command

    if sys.argv[1:] == ["groups"]:
        print("\n".join(Group.objects.order_by("id").values_list("name", flat=True)))
    else:
        call_command("migrate", verbosity=0)
        User.objects.create_superuser("ada", password="engine")
