import {findCheck, findGround, listCheckProblems} from '../../../sql/checks.ts'
import type {Db, Pool} from '../../../sql/database.ts'
import {findImport} from '../../../sql/imports.ts'
import {readAtOnce} from '../../../sql/registry.ts'
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
export const readChecks = async ({db, queue, ring}: {db: Pool; queue: Queue; ring: KeyRing}, {org, importId, cursor, limit}: Page) => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const job = await readNewestJob(queue, {name: checkImport.name, key: importId})
  // A newer check deletes the check and its problems, so both are read at one moment.
  const {check, list, listed} = await readAtOnce(db, async tx => {
    const check = await findCheck(tx, {importNo: found.no, connector: found.connectorId})
    const list = `checks ${importId} ${check?.no ?? 0}`
    const after = Number(readCursor(ring, list, cursor) ?? 0)
    return {check, list, listed: check ? await listCheckProblems(tx, {check: check.no, after, limit: limit + 1}) : []}
  })
  const page = listed.slice(0, limit)
  return {
    checks: {
      state: job?.state ?? (check ? 'done' : 'none'),
      startedAt: check?.startedAt ?? null,
      endedAt: check?.endedAt ?? null,
      rows: check?.rows ?? null,
      stale: check !== null && (await isStale(db, found.no, check)),
    },
    problems: page.map(({problem}) => problem as CheckProblem),
    nextCursor: listed.length > limit ? writeCursor(ring, list, page.at(-1)!.place) : null,
  }
}

/** Whether an input of the import, or the CRM's fields, changed since the check. */
export const isStale = async (db: Db, importNo: number, {moved, ground}: {moved: boolean; ground: string}): Promise<boolean> =>
  moved || ground !== (await findGround(db, importNo)).ground
