-- concurrently
create unique index concurrently if not exists chain_rows_by_record on chain_rows (record_id, module_no, chain_no) where how in (1, 2);
