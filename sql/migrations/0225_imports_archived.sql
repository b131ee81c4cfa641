-- When a person archived the import, which hides it from the list. Null: it is listed. Code of earlier releases lists archived imports too.
alter table imports add column archived_at timestamptz;
