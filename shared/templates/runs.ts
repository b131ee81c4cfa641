import type {Db} from '../../sql/database.ts'
import {findImportId} from '../../sql/imports.ts'
import {listTemplateRuns} from '../../sql/runs.ts'
import {readCursor, writeCursor} from '../cursor.ts'
import {describeRun} from '../runs/describe.ts'
import {readRun} from '../runs/names.ts'
import type {KeyRing} from '../secrets.ts'

type Page = {org: string; template: string; cursor?: string | undefined; limit: number}

/** Runs of imports made from it, and those that outside engines were authorised for by its name, newest first. */
export const readTemplateRuns = async ({db, ring}: {db: Db; ring: KeyRing}, {org, template, cursor, limit}: Page) => {
  const list = `template runs ${template}`
  const place = readCursor(ring, list, cursor)
  const page = await listTemplateRuns(db, {org, template, before: place === null ? null : Number(place), limit: limit + 1})
  const last = page.length > limit ? page[limit - 1] : undefined
  const runs = page.slice(0, limit).map(async run => {
    const importId = run.importNo === null ? null : await findImportId(db, run.importNo)
    return describeRun({run, importId, ...(await readRun(db, run))})
  })
  return {runs: await Promise.all(runs), nextCursor: last ? writeCursor(ring, list, last.no) : null}
}
