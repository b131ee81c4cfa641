import type {Hot} from './database.ts'

const tables = ['admissions', 'sends', 'run_log', 'log_batches', 'chain_rows', 'unsettled']

/**
 * Runs ANALYZE on tables that Postgres believes to have fewer rows than `fewerThan`. A new table has no statistics, and named statements on
 * it slow down with every row. Larger tables are left to autovacuum. Each table is analysed by a separate statement, so each has the whole timeout.
 */
export const refreshStatistics = async (hot: Hot, {fewerThan}: {fewerThan: number}): Promise<string[]> => {
  const {rows} = await hot.query<{name: string}>(
    'select relname as name from pg_class where oid = any($1::text[]::regclass[]) and reltuples < $2::float4',
    [tables, fewerThan],
  )
  const young = rows.map(({name}) => name)
  for (const name of young) await hot.query(`analyze ${name}`)
  return young
}
