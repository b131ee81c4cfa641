import type {Db} from '../../sql/database.ts'
import {insertSession} from '../../sql/sessions.ts'
import type {Config} from '../config.ts'
import {newId} from '../ids.ts'
import type {Role} from './roles.ts'
import {signId} from './signed.ts'

const lifeHours = 8

type NewSession = {person: string; org: string | null; role: Role | null}

/** A session and the token that names it. `role` is the highest it will have until it is refreshed. */
export const openSession = async (db: Db, config: Pick<Config, 'SESSION_KEYS'>, {person, org, role}: NewSession): Promise<string> => {
  const session = await insertSession(db, {id: newId('ses'), person, org, role, hours: lifeHours})
  return signId(config.SESSION_KEYS, 'session', session)
}
