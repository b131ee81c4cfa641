-- concurrently
create index concurrently if not exists imports_by_embed_token on imports (embed_token) where embed_token is not null
