-- Rows whose create was never answered, by the key of the record it would have made.
-- concurrently
create index concurrently if not exists unsettled_match_key on unsettled (chain_no, module_no, match_key) where match_key is not null and kind = 0;
