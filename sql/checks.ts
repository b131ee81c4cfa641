import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {hasChanges} from './discoveries.ts'
import {groundOfCheck} from './ground.ts'

const Ground = z.object({ground: z.string(), at: z.string()})

/** Returns the current time, and a digest of all inputs of a check except the CRM's fields. */
export const findGround = (db: Db, importNo: number) =>
  db.one(sql.type(Ground)`
    select lading_now() as at, ${groundOfCheck} as ground
    from imports i where i.import_no = ${importNo}`)

const Check = z.object({
  no: z.number(),
  startedAt: z.string(),
  endedAt: z.string(),
  rows: z.number(),
  ground: z.string(),
  moved: z.boolean(),
})

/**
 * Finds the import's last finished check, or null. `moved`: after the discovery that the check used, another discovery found added, removed or
 * changed modules.
 */
export const findCheck = (db: Db, {importNo, connector}: {importNo: number; connector: string}) =>
  db.maybeOne(sql.type(Check)`
    select check_no as no, started_at as "startedAt", ended_at as "endedAt", rows, ground, exists (
      select from discoveries d
      where d.connector_id = ${connector} and d.id > discovery_id
        and ${hasChanges}
    ) as moved
    from checks where import_no = ${importNo}`)

type FinishedCheck = {importNo: number; startedAt: string; rows: number; ground: string; discovery: string; problems: readonly object[]}

/** Keeps a stored check that started later, because that check saw newer inputs. The caller has locked the import. */
export const replaceCheck = async (tx: Tx, {importNo, startedAt, rows, ground, discovery, problems}: FinishedCheck) => {
  await tx.query(sql.type(z.object({}))`delete from checks where import_no = ${importNo} and started_at <= ${startedAt}`)
  const no = await tx.maybeOneFirst(sql.type(z.object({no: z.number()}))`
    insert into checks (import_no, started_at, rows, ground, discovery_id)
    values (${importNo}, ${startedAt}, ${rows}, ${ground}, ${discovery})
    on conflict (import_no) do nothing returning check_no as no`)
  if (no === null) return
  await tx.query(sql.type(z.object({}))`
    insert into check_problems (check_no, place, problem)
    select ${no}, place, problem from jsonb_array_elements(${sql.jsonb(problems as never)}) with ordinality as t(problem, place)`)
}

export const listCheckProblems = (db: Db, {check, after, limit}: {check: number; after: number; limit: number}) =>
  db.any(sql.type(z.object({place: z.number(), problem: z.record(z.string(), z.json())}))`
    select place, problem from check_problems where check_no = ${check} and place > ${after} order by place limit ${limit}`)
