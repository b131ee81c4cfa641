import {z} from 'zod'
import {sql, type Tx} from './database.ts'

const OrgClosing = z.object({id: z.string(), name: z.string(), closedAt: z.string().nullable(), erasingAt: z.string().nullable()})
export type OrgClosing = z.output<typeof OrgClosing>

const columns = sql.fragment`id, name, closed_at as "closedAt", erasing_at as "erasingAt"`

export const lockClosing = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(OrgClosing)`select ${columns} from orgs where id = ${id} for no key update`)

export const setClosed = (tx: Tx, {id, closed}: {id: string; closed: boolean}) =>
  tx.one(sql.type(OrgClosing)`update orgs set closed_at = case when ${closed} then lading_now() end where id = ${id} returning ${columns}`)

/** Marks the org for erasure and closes it. A second call keeps both times. */
export const setErasing = (tx: Tx, id: string) =>
  tx.one(sql.type(OrgClosing)`
    update orgs set closed_at = coalesce(closed_at, lading_now()), erasing_at = coalesce(erasing_at, lading_now())
    where id = ${id} returning ${columns}`)
