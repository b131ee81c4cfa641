import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const ASKED_VIA = ['session', 'api_token', 'mcp'] as const
export type AskedVia = (typeof ASKED_VIA)[number]

/** Returns the current time, cut to milliseconds, for the `askedAt` of a turn. */
export const readAskedAt = (db: Db) =>
  db.oneFirst(sql.type(z.object({at: z.string()}))`select date_trunc('milliseconds', lading_now()) as at`)

/** Locks the import, so that turns are added one at a time. Returns null if the import has expired, or if the import or the file was deleted. */
export const lockConversations = (tx: Tx, {org, importId, sourceId}: {org: string; importId: string; sourceId: string | null}) =>
  tx.maybeOneFirst(sql.type(z.object({no: z.number()}))`
    select import_no as no from imports i
    where org_id = ${org} and id = ${importId} and not deleted and state <> 'expired'
      and (${sourceId}::text is null or exists (select from sources s where s.import_no = i.import_no and s.id = ${sourceId}))
    for no key update`)

/** Returns the position of the next turn at `place`, and the id of the import's newest turn at any place. The caller has locked the import. */
export const findNextPlace = (tx: Tx, {importNo, place}: {importNo: number; place: string}) =>
  tx.one(sql.type(z.object({position: z.number(), lastId: z.string().nullable()}))`
    select (select max(id) from conversation_turns where import_no = ${importNo}) as "lastId",
      coalesce((select max(position) + 1 from conversation_turns where import_no = ${importNo} and place = ${place}), 0) as position`)

type NewTurn = {
  id: string
  org: string
  importNo: number
  sourceId: string | null
  place: string
  position: number
  format: number
  askedAt: string
  askedBy: string
  askedVia: AskedVia
  body: object
}

export const insertTurn = (tx: Tx, t: NewTurn) =>
  tx.query(sql.type(Empty)`
    insert into conversation_turns (id, org_id, import_no, source_id, place, position, format, asked_at, asked_by, asked_via, body)
    values (${t.id}, ${t.org}, ${t.importNo}, ${t.sourceId}, ${t.place}, ${t.position}, ${t.format}, ${t.askedAt}, ${t.askedBy}, ${t.askedVia},
      ${sql.jsonb(t.body as never)})`)

const Turn = z.object({
  id: z.string(),
  place: z.string(),
  position: z.number(),
  format: z.number(),
  askedAt: z.string(),
  askedBy: z.object({id: z.string(), name: z.string()}).nullable(),
  askedVia: z.enum(ASKED_VIA),
  newer: z.number(),
  body: z.unknown(),
})
export type TurnRow = z.infer<typeof Turn>

/** SQL for the columns of a turn. `newer`: the number of later turns at the same place, counted up to `mostNewer`. */
const columns = (mostNewer: number) => sql.fragment`
  t.id, t.place, t.position, t.format, t.asked_at as "askedAt", t.asked_via as "askedVia", t.body,
  (select jsonb_build_object('id', p.id, 'name', p.name) from people p where p.id = t.asked_by) as "askedBy",
  (select count(*) from (
    select from conversation_turns n where n.import_no = t.import_no and n.place = t.place and n.position > t.position limit ${mostNewer}
  ) n) as newer`

type TurnsQuery = {
  importNo: number
  sourceId: string | null
  place: string | null
  keptAfter: string | null
  before: {askedAt: string; id: string} | null
  limit: number
  mostNewer: number
}

export const listTurns = (db: Db, {importNo, sourceId, place, keptAfter, before, limit, mostNewer}: TurnsQuery) =>
  db.any(sql.type(Turn)`
    select ${columns(mostNewer)} from conversation_turns t
    where import_no = ${importNo} and (${sourceId}::text is null or source_id = ${sourceId}) and (${place}::text is null or place = ${place})
      and (${keptAfter}::text is null or t.id > ${keptAfter})
      and (${before?.id ?? null}::text is null or (asked_at, t.id) < (${before?.askedAt ?? null}::timestamptz, ${before?.id ?? null}))
    order by asked_at desc, t.id desc limit ${limit}`)

export const listNewestTurns = (db: Db, {importNo, place, limit}: {importNo: number; place: string; limit: number}) =>
  db.any(sql.type(Turn)`
    select ${columns(limit)} from conversation_turns t where import_no = ${importNo} and place = ${place} order by position desc limit ${limit}`)

export const deleteOldTurns = async (db: Db, {org, days, limit}: {org: string; days: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from conversation_turns where ctid = any(array(
      select ctid from conversation_turns where org_id = ${org} and asked_at < lading_now() - make_interval(days => ${days}) limit ${limit}))`)
  return rowCount
}
