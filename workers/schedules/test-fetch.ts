import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {ingest} from '../../shared/files/ingest.ts'
import {parseHere} from '../../shared/files/parser/pool.ts'
import {type Drift, findDrift} from '../../shared/mapping/templates/drift.ts'
import {documentOf} from '../../shared/mapping/templates/template.ts'
import {SourceFailure} from '../../shared/schedules/fetch/main.ts'
import {type FetchedSample, mostSampleCells, mostSampleRows, type TestFetchResult} from '../../shared/schedules/test-fetch.ts'
import {readClock} from '../../sql/clock.ts'
import {findFired, type Schedule} from '../../sql/schedules.ts'
import {findTemplate, type TemplateRow} from '../../sql/templates.ts'
import {keepTestFetch} from '../../sql/test-fetches.ts'
import {type FetchDeps, type FetchedFile, fetchFile} from './fetch.ts'

/**
 * Fetches the file of a schedule as a firing that is due now would, and stores a sample of the file, or the problem. Makes no import,
 * writes nothing to the CRM, and keeps no file. Returns whether the file could be fetched and read. Stores nothing if the source was changed
 * meanwhile, because people would take the result for that of the new source.
 */
export const testFetch = async (work: FetchDeps, {org, id, version = 0}: TestFetchInput): Promise<boolean> => {
  const schedule = await findFired(work.db, {org, id})
  if (!schedule) throw new Refusal('NOT_FOUND', 'No such schedule')
  // Tests of two versions may overlap, so each has its own file in storage.
  const key = `${org}/test-fetches/${id}_${version}`
  const result = await fetchSample(work, schedule, key).catch(failureOf)
  if (!(await keepTestFetch(work.db, {schedule, result}))) throw new Refusal('SCHEDULE_CONFLICT', isOutdated)
  return result.problem === null
}

type TestFetchInput = {org: string; id: string; version: number | undefined}

const isOutdated = 'The schedule was changed or deleted during the test. Test it again'

const fetchSample = async (work: FetchDeps, schedule: Schedule, key: string): Promise<TestFetchResult> => {
  const {org, templateId} = schedule
  const template = await findTemplate(work.db, {org, id: templateId, person: '', admin: true})
  if (!template) throw new Refusal('NOT_FOUND', 'No such template')
  const fetched = await fetchFile(work, schedule, {dueAt: await readClock(work.db)})
  try {
    return {file: await readSample(work, schedule, {fetched, template, key}), problem: null}
  } finally {
    await fetched.file.close()
  }
}

type SampleInput = {fetched: FetchedFile; template: TemplateRow; key: string}

/** Reads the file with the options of the template's first slot. The file is in storage only while this function reads it. */
const readSample = async (work: FetchDeps, {org}: Schedule, {fetched, template, key}: SampleInput): Promise<FetchedSample> => {
  const {storage} = work
  const parsing = parseHere(work)
  const {slot, reader} = documentOf(template).sources[0]!
  const {file, charset, convertedFrom} = fetched
  const isStated = !convertedFrom && Object.keys(reader).length > 0
  const how = {...(isStated && {reader}), named: {charset}, convertedFrom}
  const upload = {body: file.open()!, maxBytes: Number.POSITIVE_INFINITY, storage, key, ...how}
  try {
    const {bytes, found} = await ingest(upload, stored => parsing.run(org, 'readNew', stored))
    const source = {fileKey: key, reader: found.reader, cleaning: [], choices: {}, evidence: found.evidence}
    const preview = await parsing.run(org, 'preview', {source, page: {from: 1, limit: mostSampleRows}})
    const {fileColumns, rows} = Preview.parse(JSON.parse(new TextDecoder().decode(preview)))
    const drift = findDrift(template, {sources: [{slot, columns: fileColumns}], modules: null})
    return {name: fetched.name, bytes, rows: found.rows, ...cropped(fileColumns, rows), drift: drift.slice(0, mostDrift).map(shapeDrift)}
  } finally {
    await storage.remove(key)
  }
}

const mostDrift = 20
const mostCharacters = 200

const Preview = z.object({fileColumns: z.array(z.string()), rows: z.array(z.object({raw: z.array(z.string())}))})

/** Limits columns and cells, because a file may have thousands of columns and cells of a megabyte. */
const cropped = (columns: string[], rows: {raw: string[]}[]) => {
  const crop = (cells: string[]) => cells.slice(0, mostSampleCells).map(cell => cell.slice(0, mostCharacters))
  return {columnCount: columns.length, columns: crop(columns), sample: rows.map(({raw}) => crop(raw))}
}

const shapeDrift = ({stops, message}: Drift) => ({stops, message})

/** A refused or failed fetch is a result of the test. Other errors fail the job. */
const failureOf = (error: unknown): TestFetchResult => {
  if (!(error instanceof Refusal || error instanceof SourceFailure)) throw error
  return {file: null, problem: {code: error.code, message: error.message}}
}
