-- The rows of a chain that found their record unchanged, by record: a lost create never claims such a record.
-- concurrently
create index concurrently if not exists chain_rows_unchanged on chain_rows (chain_no, module_no, record_id) where how = 5;
