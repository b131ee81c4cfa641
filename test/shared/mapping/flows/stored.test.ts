import test from 'ava'
import fc, {type Arbitrary} from 'fast-check'
import type {CrmRecord} from '../../../../shared/crm/crm.ts'
import type {DiscoveredField} from '../../../../shared/crm/discovered.ts'
import {convert, type Rules} from '../../../../shared/mapping/flows/value.ts'
import {place} from '../../crm/crm-fixture.ts'

const rows = 400

const digits = fc.bigInt({min: 0n, max: 10n ** 12n}).map(String)
const grouped = (text: string, sign: string) => text.replace(/\B(?=(\d{3})+$)/g, sign)
const decimal = (mark: string, sign: string) =>
  fc
    .tuple(fc.constantFrom('', '-', '+'), digits, fc.stringMatching(/^\d{1,6}$/), fc.boolean())
    .map(([minus, whole, fraction, groups]) => `${minus}${groups ? grouped(whole, sign) : whole}${mark}${fraction}`)
const day = fc.date({min: new Date('1900-01-01'), max: new Date('2099-12-31'), noInvalidDate: true}).map(at => at.toISOString())
const word = fc.string({unit: 'grapheme', maxLength: 12})
const mail = fc
  .tuple(fc.stringMatching(/^[a-z.+]{1,8}$/), fc.stringMatching(/^[a-z-]{1,8}$/))
  .map(([name, host]) => `${name}@${host}.example`)

type Kind = {field: string; cells: Arbitrary<string>; rules?: Rules; same?: (value: unknown) => unknown}
const instant = (value: unknown) => Date.parse(String(value))

const kinds: Kind[] = [
  {field: 'Name', cells: fc.oneof(word, fc.string({unit: 'binary', maxLength: 130}))},
  {field: 'Notes', cells: fc.array(word, {maxLength: 5}).map(lines => lines.join('\n'))},
  {field: 'Status', cells: fc.constantFrom('Fresh', 'new', ' Confirmed', 'SHIPPED', 'Old', 'Neu')},
  {field: 'Status', cells: word, rules: {unlisted: 'pass'}},
  {field: 'Channels', cells: fc.array(fc.constantFrom('web', 'Phone', ' Shop ', 'Fax', ''), {maxLength: 4}).map(list => list.join(';'))},
  {
    field: 'Quantity',
    cells: fc.oneof(fc.integer().map(String), digits, fc.constantFrom('007', '1.0', '1,000')),
    rules: {reading: {decimalMark: 'point'}},
  },
  {field: 'Serial', cells: fc.oneof(digits, fc.bigInt({min: -(10n ** 19n), max: 10n ** 19n}).map(String), fc.constant('000'))},
  {field: 'Amount', cells: decimal('.', ','), rules: {reading: {decimalMark: 'point'}}},
  {field: 'Amount', cells: decimal(',', '.'), rules: {reading: {decimalMark: 'comma'}}},
  {field: 'Weight', cells: fc.oneof(decimal('.', ' '), decimal(',', "'")), rules: {reading: {}}},
  {field: 'Weight', cells: fc.double({noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9}).map(String)},
  {
    field: 'Discount',
    cells: fc.tuple(decimal('.', ','), fc.constantFrom('', ' %', '%')).map(parts => parts.join('')),
    rules: {reading: {}},
  },
  {field: 'Order_Date', cells: day.map(at => at.slice(0, 10).split('-').toReversed().join('.')), rules: {reading: {dateOrder: 'dmy'}}},
  {field: 'Due_At', cells: day.map(at => at.slice(0, 19)), rules: {zone: 'America/Sao_Paulo'}, same: instant},
  {field: 'Due_At', cells: day, same: instant},
  {field: 'Paid', cells: fc.constantFrom('yes', 'No', '1', '0', 'TRUE', 'false', 'maybe')},
  {field: 'Contact_Email', cells: fc.oneof(mail, word, fc.constantFrom('a,b@c.example', 'a@b.c>', '(a)@b.example'))},
]

test('converted values are stored and read back equal', async t => {
  const {crm, connect} = await place(t)
  const connection = await crm.open(await connect())
  const modules = await connection.readModules()
  const shapes = modules.find(({apiName}) => apiName === 'Orders')!.fields
  for (const {field, cells, rules, same = (value: unknown) => value} of kinds) {
    const shape: DiscoveredField = shapes.find(({apiName}) => apiName === field)!
    const converted = fc.sample(cells, rows).flatMap(cell => {
      if (cell.trim() === '') return []
      const result = convert(cell, shape, rules)
      return result.ok ? [{cell, value: result.value}] : []
    })
    t.true(converted.length > rows / 20, `${field}: some of the cells convert`)
    for (let from = 0; from < converted.length; from += 100) {
      const part = converted.slice(from, from + 100)
      const records = part.map(({value}) => ({Name: 'Row', [field]: value}))
      const {results} = await connection.createRecords('Orders', records, {})
      const ids = results.map((result, at) => {
        t.true(result.ok, `${field} ${JSON.stringify(part[at])} ${JSON.stringify(result)}`)
        return result.ok ? result.recordId : ''
      })
      const read = new Map(
        (await connection.readRecords({module: 'Orders', ids, fields: [field]})).map((record: CrmRecord) => [record.id, record]),
      )
      for (const [at, {cell, value}] of part.entries()) {
        const stored = read.get(ids[at]!)?.[field]
        const isEmpty = Array.isArray(value) && value.length === 0
        if (!isEmpty) t.deepEqual(same(stored), same(value), `${field} ${JSON.stringify(cell)}`)
      }
    }
  }
})
