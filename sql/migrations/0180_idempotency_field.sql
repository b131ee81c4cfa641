-- The field that every create in the module fills with a value of its row. Null: none.
alter table curated_modules add column idempotency_field text;
