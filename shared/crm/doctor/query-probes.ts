import type {Capabilities} from '../../../sql/doctor-reports.ts'
import {quoteName} from '../coql-names.ts'
import {nestConditions} from '../coql-page.ts'
import {asObject} from '../error.ts'
import {windowOf} from '../find-created.ts'
import type {Json} from '../metadata.ts'
import {
  describeAnswer,
  type Finding,
  type Probe,
  type ProbeAnswer,
  type ProbeContext,
  type Sample,
  unknownFinding,
  withSample,
  withText,
} from './probe.ts'
import {isRecordModule} from './sample.ts'

const isTaken = ({status}: ProbeAnswer) => status === 200 || status === 204
const finds = ({rows}: ProbeAnswer, {record}: Sample) => rows.some(({id}) => id === record.id)
const absentValues = (count: number) => Array.from({length: count}, (_, n) => `'lading-absent-${n}'`).join(',')

/** Field types that COQL cannot select. Source: zoho.com/crm/developer/docs/api/v8/COQL-Limitations.html. */
const UNSELECTABLE = [
  'subform',
  'multiselectlookup',
  'multiuserlookup',
  'fileupload',
  'imageupload',
  'profileimage',
  'formula',
  'rollup_summary',
]

const WINDOWS: Capabilities['coqlWindow'][] = ['between-offset', 'between-z', 'pair-offset', 'pair-z']

export const queryProbes: Probe[] = [
  {
    id: 'coql.inSize',
    fact: 'How many values one `in` accepts',
    expected: '50 (the v8 overview says 100)',
    consequence: 'Queries ask for as many values as the CRM accepted',
    run: withText(async ({select}, {module, textField}) => {
      const name = quoteName(textField)
      for (const size of [100, 50, 25]) {
        const answer = await select(`select id from ${module} where ${name} in (${absentValues(size)}) limit 0, 1`)
        if (isTaken(answer))
          return {seen: size === 100 ? '100 or more' : String(size), isExpected: size >= 50, capabilities: {coqlInSize: size}}
      }
      return unknownFinding('Not even 25')
    }),
  },
  {
    id: 'coql.inLists',
    fact: 'A query accepts ten lists of values',
    expected: 'Accepted: a query may have 25 conditions',
    consequence: 'Queries ask for one list of values, so a match takes more calls and credits',
    run: withText(async ({select}, {module, textField}) => {
      const name = quoteName(textField)
      const lists = Array.from({length: 10}, () => `${name} in (${absentValues(25)})`)
      const answer = await select(`select id from ${module} where ${nestConditions(lists, 'or')} limit 0, 1`)
      return {seen: describeAnswer(answer), isExpected: isTaken(answer), capabilities: {coqlInLists: isTaken(answer) ? 10 : 1}}
    }),
  },
  {
    id: 'coql.columns',
    fact: 'How many columns one query accepts',
    expected: '50 (the v8 overview says 500)',
    consequence: 'Queries select as many columns as the CRM accepted, and read the rest by id',
    run: probeColumns,
  },
  {
    id: 'coql.quote',
    fact: 'How a quote inside a text is escaped',
    expected: "Doubled: ''",
    consequence: 'Queries escape quotes with a backslash',
    run: withText(async ({select}, {module, textField}) => {
      const ask = async (text: string) =>
        isTaken(await select(`select id from ${module} where ${quoteName(textField)} = ${text} limit 0, 1`))
      if (await ask("'lading''absent'")) return {seen: 'Doubled', isExpected: true, capabilities: {coqlQuote: 'doubled'}}
      if (await ask("'lading\\'absent'")) return {seen: 'With a backslash', isExpected: false, capabilities: {coqlQuote: 'backslash'}}
      return unknownFinding('Neither form is accepted')
    }),
  },
  {
    id: 'coql.quotedNames',
    fact: 'A field name can be quoted',
    expected: 'Accepted, and the record is found',
    consequence: 'Rows cannot be matched by fields whose names are reserved words',
    run: withText(async ({select}, sample) => {
      const {module, textField, text} = sample
      const answer = await select(`select id from ${module} where '${textField}' = ${quoteText(text)} limit 0, 200`)
      return {seen: describeAnswer(answer), isExpected: finds(answer, sample)}
    }),
  },
  {
    id: 'coql.pairs',
    fact: 'Three conditions without brackets are refused',
    expected: 'HTTP 400 SYNTAX_ERROR',
    consequence: 'None: conditions are always sent in brackets',
    run: withSample(async ({select}, {module}) => {
      const answer = await select(`select id from ${module} where id is not null and id is not null and id is not null limit 0, 1`)
      return {seen: describeAnswer(answer), isExpected: answer.code === 'SYNTAX_ERROR'}
    }),
  },
  {
    id: 'coql.where',
    fact: 'A query without WHERE is refused',
    expected: 'HTTP 400',
    consequence: 'None: every query has a WHERE',
    run: withSample(async ({select}, {module}) => {
      const answer = await select(`select id from ${module} limit 0, 1`)
      return {seen: describeAnswer(answer), isExpected: answer.status === 400}
    }),
  },
  {
    id: 'coql.window',
    fact: 'Which form of a time range finds a record',
    expected: 'between, with an offset',
    consequence: 'Searches for lost creates use the form that found the record. If no form did, those rows stay unanswered',
    run: withSample(async ({select}, sample) => {
      const at = Math.floor(Date.parse(String(sample.record.Created_Time)) / 1000)
      if (Number.isNaN(at)) return unknownFinding('The record has no Created_Time')
      for (const form of WINDOWS) {
        const where = [...windowOf(form, at - 1, at + 1)].join(' and ')
        const answer = await select(`select id from ${sample.module} where ${where} limit 0, 200`)
        if (finds(answer, sample)) return {seen: form, isExpected: form === 'between-offset', capabilities: {coqlWindow: form}}
      }
      return {seen: 'None of the four', isExpected: false}
    }),
  },
  {
    id: 'coql.createdBy',
    fact: 'Created_By can be a condition',
    expected: 'Accepted, with the id as its value',
    consequence: 'Searches for lost creates cover the records of every user, so they find too many records more often',
    run: withSample(async ({select, user}, {module}) => {
      const answer = await select(`select id from ${module} where Created_By = '${String(user.id)}' limit 0, 1`)
      return {seen: describeAnswer(answer), isExpected: isTaken(answer)}
    }),
  },
  {
    id: 'coql.case',
    fact: 'A text is found in upper and lower case',
    expected: 'Found in the other case',
    consequence: 'A match misses a value in another case, so the row counts as new',
    run: withText(async ({select}, sample) => {
      const {module, textField, text} = sample
      const other = text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase()
      if (other === text) return unknownFinding('The text has no letters')
      const answer = await select(`select id from ${module} where ${quoteName(textField)} = ${quoteText(other)} limit 0, 200`)
      return {seen: finds(answer, sample) ? 'Found' : describeAnswer(answer), isExpected: finds(answer, sample)}
    }),
  },
  {
    id: 'coql.links',
    fact: 'A lookup is returned with its id',
    expected: 'An object with id',
    consequence: 'Rows cannot be compared by their links',
    run: withSample(async ({select}, {module}) => {
      const answer = await select(`select Owner from ${module} where Owner is not null limit 0, 1`)
      const keys = Object.keys(asObject(answer.rows[0]?.Owner) ?? {})
      return {seen: keys.length ? keys.join(', ') : describeAnswer(answer), isExpected: keys.includes('id')}
    }),
  },
  {
    id: 'coql.nothing',
    fact: 'A query that finds nothing is answered with 204',
    expected: 'HTTP 204',
    consequence: 'None: an empty list means the same',
    run: withText(async ({select}, {module, textField}) => {
      const answer = await select(`select id from ${module} where ${quoteName(textField)} = 'lading-absent' limit 0, 1`)
      return {seen: describeAnswer(answer), isExpected: answer.status === 204}
    }),
  },
]

/** Sample values contain neither quote nor backslash, so nothing is escaped. */
const quoteText = (text: string) => `'${text}'`

async function probeColumns(context: ProbeContext): Promise<Finding> {
  const found = await widestModule(context)
  if (!found) return unknownFinding('No module has more than 50 fields that a query can select')
  const {module, names} = found
  for (const size of [...new Set([Math.min(names.length, 500), 51])]) {
    const answer = await context.select(
      `select ${names.slice(0, size).map(quoteName).join(', ')} from ${module} where id is not null limit 0, 1`,
    )
    if (isTaken(answer)) return {seen: `${size} or more`, isExpected: true, capabilities: {coqlColumns: size}}
  }
  return {seen: '50', isExpected: true, capabilities: {coqlColumns: 50}}
}

const modulesTried = 10

const widestModule = async ({ask, modules, sample}: ProbeContext) => {
  const names = [sample?.module, ...modules.filter(isRecordModule).map(({api_name}) => String(api_name))].filter(name => name !== undefined)
  for (const module of [...new Set(names)].slice(0, modulesTried)) {
    const fields: Json[] = module === sample?.module ? sample.fields : (await ask({path: '/crm/v8/settings/fields', query: {module}})).rows
    const selectable = fields.filter(({data_type, visible}) => !UNSELECTABLE.includes(String(data_type)) && visible !== false)
    if (selectable.length > 50) return {module, names: selectable.map(({api_name}) => String(api_name))}
  }
  return null
}
