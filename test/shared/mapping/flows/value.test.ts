import test from 'ava'
import fc from 'fast-check'
import {type Converted, convert, type FieldShape} from '../../../../shared/mapping/flows/value.ts'

const shape = (type: string, more: Partial<FieldShape> = {}): FieldShape => ({apiName: 'Field', type, length: null, picklist: [], ...more})
const listed = {
  picklist: [
    {display: 'Fresh', actual: 'New'},
    {display: 'New', actual: 'Newish'},
    {display: 'Sold', actual: 'Sold'},
  ],
}

const said = (converted: Converted) => (converted.ok ? converted.value : converted.code)

const taken: Record<string, [string, unknown][]> = {
  text: [
    ['Bolt', 'Bolt'],
    [' kept as it is ', ' kept as it is '],
  ],
  textarea: [['two\nlines', 'two\nlines']],
  phone: [['+49 (30) 1-2', '+49 (30) 1-2']],
  integer: [
    ['12', 12],
    ['+7', 7],
    [' -3 ', -3],
    ['007', 7],
    ['9007199254740991', 9007199254740991],
  ],
  bigint: [['9999999999999999999', '9999999999999999999']],
  long: [['-12', '-12']],
  double: [
    ['1.5', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['-0.25', -0.25],
  ],
  percent: [['12.5', 12.5]],
  currency: [['1000000.01', 1000000.01]],
  boolean: [
    ['true', true],
    ['YES', true],
    ['1', true],
    ['no', false],
    ['False', false],
    ['0', false],
  ],
  date: [
    ['2026-02-28', '2026-02-28'],
    ['2024-02-29', '2024-02-29'],
  ],
  datetime: [
    ['2026-01-31T10:00:00Z', '2026-01-31T10:00:00+00:00'],
    ['2026-01-31 10:00+0130', '2026-01-31T10:00:00+01:30'],
    ['2026-01-31T10:00:59.250-05:00', '2026-01-31T10:00:59-05:00'],
  ],
  time: [
    ['09:30', '09:30'],
    ['23:59:59', '23:59:59'],
    ['10:30:00.250', '10:30:00'],
  ],
  email: [['a.b@example.org', 'a.b@example.org']],
  lookup: [['5000000000001', {id: '5000000000001'}]],
  ownerlookup: [['5000000000001', {id: '5000000000001'}]],
  userlookup: [['5000000000001', {id: '5000000000001'}]],
}

for (const [type, cells] of Object.entries(taken)) {
  test(`${type} accepts ${cells.map(([text]) => JSON.stringify(text)).join(', ')}`, t => {
    for (const [text, value] of cells) t.deepEqual(said(convert(text, shape(type))), value, text)
  })
}

const refused: Record<string, string[]> = {
  integer: ['1.0', '1,000', 'x', '1e3', '9007199254740993', '٣'],
  bigint: ['12345678901234567890', '1.5', 'x'],
  double: ['1,5', '1 000', 'e3', '.', '1e400', 'Infinity', 'NaN', '0x10', '--1'],
  boolean: ['wahr', '2', 'y'],
  date: ['31.01.2026', '2026-02-30', '2026-13-01', '2026-1-1', '2026-01-31T00:00:00Z'],
  datetime: ['2026-01-31', '2026-01-31T10:00:00', '2026-02-30T10:00:00Z', '2026-01-31T25:00:00Z', 'now'],
  time: ['9:30', '24:00', '10:30.5', '10:30:00.', '2026-01-31T10:30:00'],
  email: ['a', 'a@b', 'a@@b.c', 'a b@c.d', '@b.c', 'a@.c', 'a@b.', 'a@b.c@d.e'],
  lookup: ['Acme', '123', 'x5000000000001'],
}

for (const [type, cells] of Object.entries(refused)) {
  test(`${type} refuses ${cells.map(text => JSON.stringify(text)).join(', ')}`, t => {
    for (const text of cells) t.is(said(convert(text, shape(type))), 'INVALID_VALUE', text)
  })
}

test('a conversion error does not quote the cell', t => {
  for (const [type, cells] of Object.entries(refused)) {
    for (const text of cells) {
      const converted = convert(`${text}~secret`, shape(type))
      t.false(!converted.ok && /secret/.test(converted.message), type)
    }
  }
})

test('text longer than its field is refused and never cut', t => {
  t.is(said(convert('12345', shape('text', {length: 5}))), '12345')
  t.is(said(convert('123456', shape('text', {length: 5}))), 'TOO_LONG')
  t.is(said(convert('abc@example.org', shape('email', {length: 10}))), 'TOO_LONG')
})

test('an option is found by display value, actual value, then in any case, and sent as display value', t => {
  const choose = (text: string) => said(convert(text, shape('picklist', listed)))
  t.is(choose('New'), 'New', 'a display value comes before the actual value of another option')
  t.is(choose('Newish'), 'New')
  t.is(choose('Fresh'), 'Fresh')
  t.is(choose('sold'), 'Sold')
  t.is(choose('Old'), 'NOT_IN_PICKLIST')
  const countries = {picklist: ['Österreich', 'Ägypten'.normalize('NFD')].map(name => ({display: name, actual: name}))}
  for (const {display} of countries.picklist)
    for (const form of ['NFC', 'NFD']) t.is(said(convert(display.normalize(form), shape('picklist', countries))), display, form)
})

test('several choices are separated by semicolons, and each counts once', t => {
  const choose = (text: string) => said(convert(text, shape('multiselectpicklist', listed)))
  t.deepEqual(choose('Fresh; Sold'), ['Fresh', 'Sold'])
  t.deepEqual(choose('sold;;Sold; '), ['Sold'])
  t.is(choose('Sold;Old'), 'NOT_IN_PICKLIST')
})

test('any cell is converted in bounded time', t => {
  const size = 200_000
  const cells: [string, string][] = [
    ['email', `a@${'.'.repeat(size)} b`],
    ['email', `${'a'.repeat(size)}@${'a.'.repeat(size)}@`],
    ['double', `${'1'.repeat(size)}x`],
    ['integer', `${'1'.repeat(size)}x`],
    ['datetime', `2026-01-31T10:00:00.${'1'.repeat(size)}x`],
    ['date', '2026'.repeat(size)],
    ['lookup', `${'1'.repeat(size)}x`],
    ['multiselectpicklist', 'Sold;'.repeat(size)],
    ['multiselectpicklist', Array.from({length: size}, (_, n) => `x${n}`).join(';')],
    ['phone', ' '.repeat(size)],
  ]
  for (const [type, text] of cells) {
    const startedAt = performance.now()
    convert(
      text,
      shape(type, {picklist: Array.from({length: 200}, (_, n) => ({display: `Option ${n}`, actual: `O${n}`})).concat(listed.picklist)}),
    )
    t.true(performance.now() - startedAt < 15_000, `${type} ${text.slice(0, 20)}`)
  }
})

test('numbers are converted exactly or refused', t => {
  fc.assert(fc.property(fc.maxSafeInteger(), number => t.is(said(convert(String(number), shape('integer'))), number)))
  fc.assert(
    fc.property(fc.double({noNaN: true, noDefaultInfinity: true}), number => {
      t.is(said(convert(String(number), shape('double'))), number === 0 ? 0 : number)
    }),
  )
})

test('no text makes a conversion throw', t => {
  const types = [...Object.keys(taken), 'picklist', 'multiselectpicklist', 'somethingnew']
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.string({unit: 'binary', maxLength: 40}), (type, text) => {
      convert(text, shape(type, listed))
    }),
  )
  t.pass()
})
