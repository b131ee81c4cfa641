-- concurrently
-- contract: `chain_rows_by_record` has the same columns in another order: it keeps the same rule and answers the same queries of older code
drop index concurrently if exists chain_rows_made;
