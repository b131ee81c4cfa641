-- The API token that asked for the change. Null: a session did, or an earlier build, which stored only the person who created the token.
alter table plan_changes add column token_id text references api_tokens;
