import type {Db} from '../../../sql/database.ts'
import {findImportId} from '../../../sql/imports.ts'
import {listTemplateRuns} from '../../../sql/runs.ts'
import {describeRun} from '../../runs/describe.ts'
import {readRun} from '../../runs/names.ts'
import {readPage} from '../../security/cursor.ts'
import type {KeyRing} from '../../security/secrets.ts'

type Page = {org: string; template: string; cursor?: string | undefined; limit: number}

/** Returns a page of the runs of imports made from the template, and of external runs authorised for it, newest first. */
export const readTemplateRuns = async ({db, ring}: {db: Db; ring: KeyRing}, {org, template, ...asked}: Page) => {
  const {page, nextCursor} = await readPage(ring, `template runs ${template}`, asked, {
    as: Number,
    read: ({place: before, limit}) => listTemplateRuns(db, {org, template, before, limit}),
    placeOf: ({no}) => no,
  })
  const runs = page.map(async run => {
    const importId = run.importNo === null ? null : await findImportId(db, run.importNo)
    return describeRun({run, importId, ...(await readRun(db, run))})
  })
  return {runs: await Promise.all(runs), nextCursor}
}
