import type {Tx} from '../../sql/database.ts'
import {insertNotice} from '../../sql/notices.ts'
import {newId} from '../ids.ts'
import type {Kind} from './kind.ts'

/** Ids, codes, counts and moments. Never rows or cells, and no names of files: this leaves the service. */
export type About = {[name: string]: string | number | boolean | null | About | About[]}

type Announced = {org: string; kind: Kind; schedule: string | null; about: About}

/**
 * Says that something happened, in the transaction that makes it happen: told if, and only if, that is committed. Who is told is found
 * out by the worker `notices`. Answers the notice's id, which is what receivers know it by (`webhook-id`).
 */
export const announce = async (tx: Tx, {org, kind, schedule, about}: Announced): Promise<string> => {
  const id = newId('ntc')
  await insertNotice(tx, {id, org, kind, schedule, about})
  return id
}
