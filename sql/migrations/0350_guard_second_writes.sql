-- Position 7 of `verified` counts the patches of rows that the run wrote before. The coerced rows include these patches, so the share is one of both.
create or replace function guard_coerced(guard jsonb, verified bigint[], since bigint[]) returns jsonb language sql immutable as $$
  select jsonb_build_object('outcome', 'coerced', 'rows', rows, 'settled', read, 'limit', share)
  from (select coalesce(verified[1], 0) + coalesce(verified[7], 0) - coalesce(since[1], 0) - coalesce(since[7], 0) as read,
    coalesce(verified[2], 0) - coalesce(since[2], 0) as rows, (guard ->> 'coerced')::float8 as share) as counted
  where read >= least(50, coalesce((guard ->> 'canary')::int, 50)) and rows > share * read
$$;
