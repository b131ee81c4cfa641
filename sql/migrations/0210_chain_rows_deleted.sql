-- concurrently
-- Finds the rows of a chain that deleted a record.
create index concurrently if not exists chain_rows_deleted on chain_rows (chain_no, module_no, record_id) where how = 6;
