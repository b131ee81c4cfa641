import {findCheck, findGround, listCheckProblems} from '../../../sql/checks.ts'
import type {Db} from '../../../sql/database.ts'
import {findImport} from '../../../sql/imports.ts'
import {Refusal} from '../../errors.ts'
import {checkImport} from '../../jobs.ts'
import {type Queue, readNewestJob} from '../../queue.ts'
import {readCursor, writeCursor} from '../../security/cursor.ts'
import type {KeyRing} from '../../security/secrets.ts'
import type {CheckProblem} from './problem.ts'

type Page = {org: string; importId: string; cursor: string | undefined; limit: number}

/**
 * `state` describes the newest check, which may still be running. All other values describe the last finished check. A cursor is valid until another
 * check ends.
 */
export const readChecks = async ({db, queue, ring}: {db: Db; queue: Queue; ring: KeyRing}, {org, importId, cursor, limit}: Page) => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const job = await readNewestJob(queue, {name: checkImport.name, key: importId})
  const check = await findCheck(db, {importNo: found.no, connector: found.connectorId})
  const list = `checks ${importId} ${check?.no ?? 0}`
  const after = Number(readCursor(ring, list, cursor) ?? 0)
  const listed = check ? await listCheckProblems(db, {check: check.no, after, limit: limit + 1}) : []
  const page = listed.slice(0, limit)
  return {
    checks: {
      state: job?.state ?? (check ? 'done' : 'none'),
      startedAt: check?.startedAt ?? null,
      endedAt: check?.endedAt ?? null,
      rows: check?.rows ?? null,
      stale: check !== null && (check.moved || check.ground !== (await findGround(db, found.no)).ground),
    },
    problems: page.map(({problem}) => problem as CheckProblem),
    nextCursor: listed.length > limit ? writeCursor(ring, list, page.at(-1)!.place) : null,
  }
}
