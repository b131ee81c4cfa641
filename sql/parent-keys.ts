import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'

/** The limit on rows that are read per key. If more rows of the file have the key, the later ones are never parents. */
const mostRows = 100

type Keys = {run: number; flow: number; hashes: Buffer[]; numbers: number[]}

/** Stores the keys of parent rows. `flow`: the flow whose rows look for these parents. Repeated inserts change nothing. */
export const keepParentKeys = (hot: Hot, {run, flow, hashes, numbers}: Keys) => keepStatement(hot, [run, flow, hashes, numbers])

const keepStatement = prepare(
  'keep-parent-keys',
  `insert into run_parent_keys (run_no, flow_no, key_hash, row_number)
   select $1::bigint, $2::smallint, hash, number from unnest($3::bytea[], $4::bigint[]) as k(hash, number) on conflict do nothing`,
)

export const findParentRows = (hot: Hot, {run, flow, hashes}: Omit<Keys, 'numbers'>) =>
  findRowsStatement(hot, [run, flow, hashes, mostRows])

const findRowsStatement = prepare<{hash: Buffer; number: number}>(
  'find-parent-rows',
  `select hash, p.row_number as number from unnest($3::bytea[]) as hash cross join lateral (
     select row_number from run_parent_keys where run_no = $1::bigint and flow_no = $2::smallint and key_hash = hash
     order by row_number limit $4::bigint) p
   order by hash, number`,
)

export const deleteParentKeys = async (db: Db, {run, limit}: {run: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from run_parent_keys where ctid = any(array(select ctid from run_parent_keys where run_no = ${run} limit ${limit}))`)
  return rowCount
}
