import {asObject} from '../error.ts'
import type {Json} from '../metadata.ts'
import {describeAnswer, type Probe, unknownFinding, withSample, withText} from './probe.ts'

const noId = '1'

export const readProbes: Probe[] = [
  {
    id: 'modules.displayField',
    fact: 'The list of modules names the field that identifies a record',
    expected: 'An object, a text or nothing',
    consequence: 'The naming field is read from the fields alone',
    async run({modules}) {
      const shapes = new Set(modules.map(({display_field}) => (display_field === null ? 'null' : typeof display_field)))
      return {
        seen: [...shapes].join(', '),
        isExpected: [...shapes].every(shape => ['object', 'string', 'null', 'undefined'].includes(shape)),
      }
    },
  },
  {
    id: 'fields.include',
    fact: 'Fields are returned without the parameter `include`',
    expected: 'HTTP 200 with fields',
    consequence: 'A discovery fails',
    run: withSample(async ({ask}, {module}) => {
      const answer = await ask({path: '/crm/v8/settings/fields', query: {module}})
      return {seen: describeAnswer(answer), isExpected: answer.status === 200 && answer.rows.length > 0}
    }),
  },
  {
    id: 'picklist.names',
    fact: 'A query returns the display value of a renamed option',
    expected: 'The display value',
    consequence: 'Rows may store options that are not in the list. Report this finding before you import picklists',
    run: withSample(async ({select}, {module, fields}) => {
      for (const field of fields.filter(({data_type}) => data_type === 'picklist')) {
        const options = Array.isArray(field.pick_list_values) ? (field.pick_list_values as Record<string, unknown>[]) : []
        const renamed = options.filter(({display_value, actual_value}) => actual_value && display_value !== actual_value)
        if (renamed.length === 0) continue
        const name = String(field.api_name)
        const {rows} = await select(`select ${name} from ${module} where ${name} is not null limit 0, 200`)
        const values = new Set(rows.map(row => row[name]))
        if (renamed.some(({display_value}) => values.has(display_value))) return {seen: `Display value (${name})`, isExpected: true}
        if (renamed.some(({actual_value}) => values.has(actual_value))) return {seen: `Actual value (${name})`, isExpected: false}
      }
      return unknownFinding('No record holds a renamed option')
    }),
  },
  {
    id: 'errors.module',
    fact: 'An unknown module is refused as a whole',
    expected: 'HTTP 400 INVALID_MODULE',
    consequence: 'A run into a deleted module stops after its first batches instead of immediately',
    async run({ask}) {
      const answer = await ask({path: '/crm/v8/settings/fields', query: {module: 'Lading_Nothing'}})
      return {seen: describeAnswer(answer), isExpected: answer.status === 400 && answer.code === 'INVALID_MODULE'}
    },
  },
  {
    id: 'ids.hundred',
    fact: 'A read accepts 100 ids',
    expected: 'HTTP 200 with the record that exists',
    consequence: 'Reads by id fail. Report this finding',
    run: withSample(async ({ask}, {module, record}) => {
      const ids = [record.id, ...fakeIds(record.id, 99)].join(',')
      const answer = await ask({path: `/crm/v8/${module}`, query: {ids, fields: 'Created_Time'}})
      return {seen: describeAnswer(answer), isExpected: answer.rows.some(({id}) => id === record.id)}
    }),
  },
  {
    id: 'ids.more',
    fact: 'A read of 101 ids is refused',
    expected: 'HTTP 400',
    consequence: 'None: at most 100 are sent',
    run: withSample(async ({ask}, {module, record}) => {
      const answer = await ask({
        path: `/crm/v8/${module}`,
        query: {ids: [record.id, ...fakeIds(record.id, 100)].join(','), fields: 'Created_Time'},
      })
      return {seen: describeAnswer(answer), isExpected: answer.status === 400}
    }),
  },
  {
    id: 'ids.fields',
    fact: 'A read of 51 fields is refused',
    expected: 'HTTP 400 LIMIT_EXCEEDED',
    consequence: 'None: at most 50 are sent',
    run: withSample(async ({ask}, {module, record}) => {
      const fields = Array.from({length: 51}, (_, n) => `Lading_${n}`).join(',')
      const answer = await ask({path: `/crm/v8/${module}`, query: {ids: record.id, fields}})
      return {seen: describeAnswer(answer), isExpected: answer.status === 400}
    }),
  },
  {
    id: 'ids.absent',
    fact: 'A record that does not exist is answered with 204',
    expected: 'HTTP 204',
    consequence: 'A deleted record is reported as an error of the CRM',
    run: withSample(async ({ask}, {module, record}) => {
      const answer = await ask({path: `/crm/v8/${module}/${fakeIds(record.id, 1)[0]}`})
      return {seen: describeAnswer(answer), isExpected: answer.status === 204}
    }),
  },
  {
    id: 'ids.converted',
    fact: 'Converted leads are read with `converted=both`',
    expected: 'Accepted together with ids',
    consequence: 'Converted leads count as deleted',
    async run({ask, modules}) {
      if (!modules.some(({api_name}) => api_name === 'Leads')) return unknownFinding('The org has no Leads')
      const answer = await ask({path: '/crm/v8/Leads', query: {ids: noId, fields: 'Created_Time', converted: 'both'}})
      return {seen: describeAnswer(answer), isExpected: [200, 204].includes(answer.status)}
    },
  },
  {
    id: 'ids.modifiedSince',
    fact: 'A record that did not change is answered with 304',
    expected: 'HTTP 304 for If-Modified-Since',
    consequence: 'None: the header is not used yet',
    run: withSample(async ({ask}, {module, record}) => {
      const headers = {'if-modified-since': String(record.Modified_Time ?? record.Created_Time)}
      const answer = await ask({path: `/crm/v8/${module}/${record.id}`, headers})
      return {seen: describeAnswer(answer), isExpected: answer.status === 304}
    }),
  },
  {
    id: 'timeline.entries',
    fact: 'The timeline of a record names who changed it, how and when',
    expected: 'A list with done_by, source and audited_time',
    consequence: 'Lading cannot tell who changed a record after an import',
    run: withSample(async ({ask}, {module, record}) => {
      const query = {sort_by: 'audited_time', sort_order: 'desc'}
      const answer = await ask({path: `/crm/v8/${module}/${record.id}/__timeline`, query})
      const isWhole = ({done_by, source, audited_time}: Json) =>
        asObject(done_by) && [source, audited_time].every(one => typeof one === 'string')
      return {seen: describeAnswer(answer), isExpected: answer.status === 200 && answer.rows.length > 0 && answer.rows.every(isWhole)}
    }),
  },
  {
    id: 'search.word',
    fact: 'The search finds a record by one of its words',
    expected: 'The record is found',
    consequence: 'Lookups by search miss records',
    run: withText(async ({ask}, {module, record, text}) => {
      const answer = await ask({path: `/crm/v8/${module}/search`, query: {word: text, per_page: '200'}})
      if (answer.rows.length === 200) return unknownFinding('More records hold the word than one page shows')
      return {seen: describeAnswer(answer), isExpected: answer.rows.some(({id}) => id === record.id)}
    }),
  },
  {
    id: 'search.oneCharacter',
    fact: 'The search refuses a word of one character',
    expected: 'HTTP 400',
    consequence: 'None: such words are not searched for',
    run: withSample(async ({ask}, {module}) => {
      const answer = await ask({path: `/crm/v8/${module}/search`, query: {word: 'x'}})
      return {seen: describeAnswer(answer), isExpected: answer.status === 400}
    }),
  },
]

/** The ids have the length of `id`, so that the CRM accepts them as ids. */
const fakeIds = (id: string, count: number) =>
  Array.from({length: count}, (_, n) => `${id.slice(0, -9).padEnd(1, '9')}${String(999_999_999 - n)}`)
