import {randomUUID} from 'node:crypto'
import {setTimeout as sleep} from 'node:timers/promises'
import {asObject, CrmError} from '../error.ts'
import type {Json} from '../metadata.ts'
import {describeAnswer, type Finding, type ProbeAnswer, type ProbeContext, unknownFinding} from './probe.ts'

/**
 * `ids`: the created test records, which must be deleted at the end. `unanswered`: the number of creates without an answer, each of which may have
 * made a record.
 */
export type TestModule = {module: string; fields: Json[]; ids: string[]; unanswered: number}
export type WriteProbe = {
  id: string
  fact: string
  expected: string
  consequence: string
  run(context: ProbeContext, scratch: TestModule): Promise<Finding>
}

const longestLagMs = 60_000
const expectedLagMs = 20_000
const mark = 'Lading doctor'
const past = '2001-01-01T00:00:00+00:00'
const TEXTS = ['text', 'textarea']

/** A text that a unique field accepts, also if an earlier doctor left records. Cut to the length of the field. */
const newText = ({length}: Json) => `${mark} ${randomUUID().slice(0, 8)}`.slice(-Number(length))

const detailOf = (answer: ProbeAnswer, at = 0) => asObject(answer.rows[at]?.details)
const codeAt = (answer: ProbeAnswer, at = 0) => String(answer.rows[at]?.code ?? answer.code ?? '')

const createTestRecord = async ({ask}: ProbeContext, scratch: TestModule, more: object = {}): Promise<ProbeAnswer> => {
  const required = scratch.fields.filter(isRequired).map(field => [String(field.api_name), newText(field)])
  const data = [{...Object.fromEntries(required), ...more}]
  const answer = await ask({method: 'POST', path: `/crm/v8/${scratch.module}`, json: {data, trigger: []}}).catch(error => {
    if (error instanceof CrmError && error.crm.unanswered) scratch.unanswered++
    throw error
  })
  const id = madeBy(answer)
  if (id !== null) scratch.ids.push(id)
  return answer
}

/** Returns the id only if the call created a record. A refusal can name an existing record of the org, which the doctor must not touch. */
const madeBy = (answer: ProbeAnswer): string | null => {
  const id = codeAt(answer) === 'SUCCESS' ? detailOf(answer)?.id : null
  return typeof id === 'string' ? id : null
}

/** Finds the first of Leads, Contacts and Accounts that is creatable and whose mandatory fields, at least one, are all texts. */
export const findTestModule = async ({ask, modules}: ProbeContext): Promise<TestModule | null> => {
  const preferred = ['Leads', 'Contacts', 'Accounts']
  const known = preferred.filter(name => modules.some(({api_name, creatable}) => api_name === name && creatable === true))
  for (const module of known) {
    const {rows: fields} = await ask({path: '/crm/v8/settings/fields', query: {module}})
    const required = fields.filter(isRequired)
    if (required.length > 0 && required.every(({data_type}) => TEXTS.includes(String(data_type))))
      return {module, fields, ids: [], unanswered: 0}
  }
  return null
}

export const clearProbe: Omit<WriteProbe, 'run'> = {
  id: 'write.clear',
  fact: 'The records of the doctor are deleted',
  expected: 'All of them',
  consequence: `Delete the records named "${mark} …" by hand. A field that is too short for this name holds its last characters`,
}

/** Deletes the test records. If a deletion fails, continues with the next record. Never throws: the finding names the records that are left. */
export const deleteTestRecords = async ({ask}: ProbeContext, {module, ids, unanswered}: TestModule): Promise<Finding> => {
  const isGone = async (id: string) => {
    const answer = await ask({method: 'DELETE', path: `/crm/v8/${module}`, query: {ids: id, wf_trigger: 'false'}})
    return codeAt(answer) === 'SUCCESS' || (await ask({path: `/crm/v8/${module}/${id}`})).status === 204
  }
  const left: string[] = []
  for (const id of ids) if (!(await isGone(id).catch(() => false))) left.push(id)
  const seen = [
    ...(left.length ? [`Still there in ${module}: ${left.join(', ')}`] : []),
    ...(unanswered ? [`${unanswered} create${unanswered > 1 ? 's were' : ' was'} not answered`] : []),
  ]
  return {seen: seen.join('. ') || 'All', isExpected: seen.length === 0}
}

const isRequired = ({system_mandatory}: Json) => system_mandatory === true

const timeUntil = async (isFound: () => Promise<boolean>, signal: AbortSignal | undefined) => {
  const startedAt = performance.now()
  for (let pauseMs = 250; performance.now() - startedAt < longestLagMs; pauseMs = Math.min(2 * pauseMs, 4_000)) {
    if (await isFound()) return performance.now() - startedAt
    await sleep(pauseMs, undefined, {signal})
  }
  return null
}

/** If the record was not found in a minute (`ms` is null), the stored lag is two minutes. */
const describeLag = (ms: number | null): Finding => {
  const coqlLagSeconds = Math.ceil((ms ?? 2 * longestLagMs) / 1000)
  const seen = ms === null ? `Not within ${longestLagMs / 1000} seconds` : `After ${(ms / 1000).toFixed(1)} s`
  return {seen, isExpected: ms !== null && ms < expectedLagMs, capabilities: {coqlLagSeconds}}
}

/** These probes run only in a sandbox or developer org. */
export const writeProbes: WriteProbe[] = [
  {
    id: 'write.create',
    fact: 'A new record is answered with 201 and its id',
    expected: 'HTTP 201 SUCCESS with an id',
    consequence: 'Creates stay unanswered',
    async run(context, scratch) {
      const answer = await createTestRecord(context, scratch)
      return {
        seen: `HTTP ${answer.status} ${codeAt(answer)}`,
        isExpected: answer.status === 201 && madeBy(answer) !== null,
      }
    },
  },
  {
    id: 'write.readAtOnce',
    fact: 'A new record can be read by its id immediately',
    expected: 'HTTP 200',
    consequence: 'A record that was just created may count as deleted',
    async run({ask}, {module, ids}) {
      if (!ids[0]) return unknownFinding('No record could be made')
      const answer = await ask({path: `/crm/v8/${module}/${ids[0]}`})
      return {seen: describeAnswer(answer), isExpected: answer.status === 200}
    },
  },
  {
    id: 'lag.coql',
    fact: 'How long a query does not find a new record',
    expected: 'Less than 20 seconds',
    consequence: 'Runs wait twice the lag before they send an unanswered create again',
    async run({select, signal}, {module, ids: [id]}) {
      if (!id) return unknownFinding('No record could be made')
      const find = async () => (await select(`select id from ${module} where id = '${id}' limit 0, 1`)).rows.length > 0
      return describeLag(await timeUntil(find, signal))
    },
  },
  {
    id: 'write.unknownKey',
    fact: 'A key that is not a field is ignored',
    expected: 'SUCCESS',
    consequence: 'Rows are refused if a field was deleted after the last discovery',
    async run(context, scratch) {
      if (!scratch.ids[0]) return unknownFinding('No record could be made')
      const answer = await createTestRecord(context, scratch, {Lading_Nothing: 'x'})
      return {seen: `HTTP ${answer.status} ${codeAt(answer)}`, isExpected: codeAt(answer) === 'SUCCESS'}
    },
  },
  {
    id: 'write.picklist',
    fact: 'An option that is not in the list is stored',
    expected: 'SUCCESS',
    consequence: 'Rows with unknown options are refused, not stored',
    async run(context, scratch) {
      const field = scratch.fields.find(({data_type, read_only}) => data_type === 'picklist' && read_only !== true)
      if (!field) return unknownFinding('The module has no picklist')
      if (!scratch.ids[0]) return unknownFinding('No record could be made')
      const answer = await createTestRecord(context, scratch, {[String(field.api_name)]: `${mark} option`})
      return {seen: `HTTP ${answer.status} ${codeAt(answer)}`, isExpected: codeAt(answer) === 'SUCCESS'}
    },
  },
  {
    id: 'unmodifiedSince.single',
    fact: 'If-Unmodified-Since refuses an update if the record changed after that time',
    expected: 'HTTP 412 ALREADY_MODIFIED',
    consequence: 'A change that a person makes between our read and our write is overwritten',
    async run({ask}, {module, fields, ids: [id]}) {
      if (!id) return unknownFinding('No record could be made')
      const json = {data: [changed(fields, id)], trigger: []}
      const answer = await ask({method: 'PUT', path: `/crm/v8/${module}/${id}`, headers: {'if-unmodified-since': past}, json})
      const isExpected = answer.status === 412 || codeAt(answer) === 'ALREADY_MODIFIED'
      return {seen: `HTTP ${answer.status} ${codeAt(answer)}`, isExpected, ...(!isExpected && {capabilities: {unmodifiedSince: 'ignored'}})}
    },
  },
  {
    id: 'unmodifiedSince.batch',
    fact: 'If-Unmodified-Since with several records, one of which changed after that time',
    expected: 'All records are refused, or only the changed one',
    consequence: 'This connection cannot check for conflicting changes',
    run: probeBatch,
  },
  {
    id: 'write.delete',
    fact: 'A deleted record can no longer be read',
    expected: 'SUCCESS, then HTTP 204',
    consequence: 'A record may still be readable after its deletion',
    async run({ask}, {module, ids}) {
      const id = ids.at(-1)
      if (!id) return unknownFinding('No record could be made')
      const answer = await ask({method: 'DELETE', path: `/crm/v8/${module}`, query: {ids: id, wf_trigger: 'false'}})
      const {status} = await ask({path: `/crm/v8/${module}/${id}`})
      return {seen: `${codeAt(answer)}, then HTTP ${status}`, isExpected: codeAt(answer) === 'SUCCESS' && status === 204}
    },
  },
  {
    id: 'write.restore',
    fact: 'A deleted record can be restored from the recycle bin with its id',
    expected: 'SUCCESS, then HTTP 200',
    consequence:
      'A deleted record cannot be brought back. If the CRM answers OAUTH_SCOPE_MISMATCH, connect it again and accept every scope',
    async run({ask, signal}, {module, ids}) {
      const id = ids.at(-1)
      if (!id) return unknownFinding('No record could be made')
      const answer = await ask({method: 'POST', path: '/crm/v8/settings/recycle_bin/actions/restore', json: {ids: [id]}})
      const isAccepted = ['SUCCESS', 'SCHEDULED'].includes(codeAt(answer))
      let status = 0
      const read = async () => {
        status = (await ask({path: `/crm/v8/${module}/${id}`})).status
        return status === 200
      }
      // A scheduled restore must be over before the doctor deletes its records.
      const ms = isAccepted ? await timeUntil(read, signal) : null
      return {
        seen: isAccepted ? `${codeAt(answer)}, then HTTP ${status}` : `HTTP ${answer.status} ${codeAt(answer)}`,
        isExpected: codeAt(answer) === 'SUCCESS' && ms !== null,
      }
    },
  },
]

const changed = (fields: Json[], id: string) => {
  const field = fields.find(isRequired)!
  return {id, [String(field.api_name)]: newText(field)}
}

/** Sends two records with one `If-Unmodified-Since` header. Only the second record was created after the time in the header. */
async function probeBatch(context: ProbeContext, scratch: TestModule): Promise<Finding> {
  const {ask, signal} = context
  const {module, fields} = scratch
  const [older] = scratch.ids
  const moment = older && asObject((await ask({path: `/crm/v8/${module}/${older}`})).rows[0])?.Modified_Time
  if (typeof moment !== 'string') return unknownFinding('No record could be made')
  await sleep(1_500, undefined, {signal})
  const newer = madeBy(await createTestRecord(context, scratch))
  if (newer === null) return unknownFinding('No second record could be made')
  const json = {data: [changed(fields, older!), changed(fields, newer)], trigger: []}
  const answer = await ask({method: 'PUT', path: `/crm/v8/${module}`, headers: {'if-unmodified-since': moment}, json})
  if (answer.rows.some((_, at) => codeAt(answer, at) === 'SUCCESS')) {
    const isRecord = codeAt(answer, 1) === 'ALREADY_MODIFIED'
    return isRecord
      ? {seen: 'Only the changed record is refused', isExpected: true, capabilities: {unmodifiedSince: 'record'}}
      : {seen: 'No record is refused: the header is ignored', isExpected: false, capabilities: {unmodifiedSince: 'ignored'}}
  }
  if (codeAt(answer) === 'ALREADY_MODIFIED')
    return {seen: 'All records are refused', isExpected: true, capabilities: {unmodifiedSince: 'whole'}}
  return unknownFinding(`HTTP ${answer.status} ${codeAt(answer)}`)
}
