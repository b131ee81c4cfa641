import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export const insertSnapshot = (tx: Tx, {format, document}: {format: number; document: unknown}) =>
  tx.oneFirst(sql.type(z.object({no: z.number()}))`
    insert into run_snapshots (format, document) values (${format}, ${sql.jsonb(document as never)}) returning snapshot_no as no`)

export const findSnapshot = (db: Db, no: number) =>
  db.maybeOne(
    sql.type(z.object({format: z.number(), document: z.unknown()}))`select format, document from run_snapshots where snapshot_no = ${no}`,
  )

/** Stores a copy of a snapshot for another run, so that each run deletes its own. */
export const copySnapshot = (tx: Tx, no: number) =>
  tx.oneFirst(sql.type(z.object({no: z.number()}))`
    insert into run_snapshots (format, document) select format, document from run_snapshots where snapshot_no = ${no} returning snapshot_no as no`)
