import test from 'ava'
import fc from 'fast-check'
import {looksPersonal, mask, maskRow, maskRows, shapeOf} from '../../shared/masking.ts'

/** Letters of many alphabets, digits, marks and everything else. */
const text = fc.oneof(fc.string(), fc.string({unit: 'binary'}), fc.string({unit: 'grapheme'}), fc.lorem(), fc.emailAddress())
const alphabet = /^[Aa9 .,;:@+/()_-]{0,40}$/
const isShape = (value: string) => /^[Aa9 .,;:@+/()_-]*$/.test(value)

test('a shape is made of shape characters alone, however long the value', t => {
  fc.assert(
    fc.property(text, value => alphabet.test(shapeOf(value) as string)),
    {numRuns: 2000},
  )
  t.is(shapeOf('Anna 42'), 'Aaaa 99')
  t.is(shapeOf('Łukasz Öztürk-Ōe'), 'Aaaaaa Aaaaaa-Aa')
  t.is(shapeOf('anna.berg@example.org'), 'aaaa.aaaa@aaaaaaa.aaa')
  t.is(shapeOf('+49 (30) 901820'), '+99 (99) 999999')
  t.is(shapeOf('東京'), 'aa')
  t.is(shapeOf('x'.repeat(1000)), 'a'.repeat(40))
})

test('a shape tells nothing of which letters and digits there were', t => {
  const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz')
  const capital = letter.map(one => one.toUpperCase())
  const digit = fc.constantFrom(...'0123456789')
  const kinds = [letter, capital, digit]
  const twins = fc
    .array(fc.nat({max: 2}), {maxLength: 60})
    .chain(pattern => fc.tuple(...[0, 1].map(() => fc.tuple(...pattern.map(kind => kinds[kind]!)).map(parts => parts.join('')))))
  fc.assert(fc.property(twins, ([one, other]) => shapeOf(one) === shapeOf(other)))
  t.pass()
})

test('no masked output holds three characters in a row of its input, but what is a shape itself', t => {
  const policies = fc.constantFrom('allow', 'masked', 'deny' as const)
  fc.assert(
    fc.property(text, policies, (value, policy) => {
      const masked = mask(value, {pii: true, policy})
      if (masked === null) return policy === 'deny'
      const runs = [...(masked as string)].map((_, at) => (masked as string).slice(at, at + 3)).filter(run => run.length === 3)
      return runs.every(run => isShape(run) || !value.includes(run))
    }),
    {numRuns: 2000},
  )
  t.pass()
})

test('the policy decides what is not personal: as it is, its shape, or nothing', t => {
  t.is(mask('Blue', {pii: false, policy: 'allow'}), 'Blue')
  t.is(mask('Blue', {pii: false, policy: 'masked'}), 'Aaaa')
  t.is(mask('Blue', {pii: false, policy: 'deny'}), null)
  t.is(mask('Blue', {pii: true, policy: 'allow'}), 'Aaaa')
  t.is(mask('Blue', {pii: true, policy: 'deny'}), null)
})

test('every kind of value is masked: numbers, lists, objects, true and false', t => {
  t.is(shapeOf(-12.5), '-99.9')
  t.is(shapeOf(12n), '99')
  t.deepEqual(shapeOf(['Anna', {id: '17', names: ['Bo']}]), ['Aaaa', {id: '99', names: ['Aa']}])
  for (const value of [true, false, null, undefined]) t.is(shapeOf(value), null)
  t.is(shapeOf(new Date(0)), '9999-99-99A99:99:99.999A')
})

const PERSONAL = [
  ...['anna@example.org', 'write to anna.berg@example.co.uk please', 'Anna <a@b.de>', '+49 30 901820', '(030) 901-8204', '0151 2345678'],
  ...['+4915123456789', 'DE89370400440532013000', 'DE89 3704 0044 0532 0130 00', 'GB29 NWBK 6016 1331 9268 19', '123-45-6789'],
  ...['０１５１ ２３４５６７８', 'anna＠example．org', '0151\u200b2345678', '+49\u2060 30\u00ad901820', 'a\u200bnna@exam\u00adple.org'],
  ...['4111 1111 1111 1111', '123456789', 123456789012, ['x', 'a@b.de'], {mail: 'a@b.de'}],
]
const PLAIN = [
  ...['Anna', 'blue', '', '2024-01-31', '2024-01-31 12:00:00', '2024-01-31T12:00:00.000Z', '2024-01-31T12:00:00+02:00', '31.12.2024'],
  ...['12/31/24', '1234.56', '99999999', '1.2.3', 'SKU-1234', 'Order 12345', 42, 1234567.5, true, null, undefined, '@home', 'a @ b'],
]

for (const value of PERSONAL) test(`looks personal: ${JSON.stringify(value)}`, t => t.true(looksPersonal(value)))
for (const value of PLAIN) test(`does not look personal: ${JSON.stringify(value) ?? 'undefined'}`, t => t.false(looksPersonal(value)))

test('any address looks personal, wherever it stands', t => {
  const around = fc.lorem({maxCount: 3})
  fc.assert(fc.property(around, fc.emailAddress(), around, (before, address, after) => looksPersonal(`${before} ${address} ${after}`)))
  t.pass()
})

test('a column nobody annotated is judged by all its values, an annotation decides either way', t => {
  const rows = [
    {Name: 'Anna', Mail: 'none', Number: '123456789', Note: 'hi'},
    {Name: 'Bo', Mail: 'bo@example.org', Number: '987654321', Note: 'yo'},
  ]
  const how = {personal: {Name: true, Number: false}, policy: 'allow'} as const
  t.deepEqual(maskRows(rows, how), [
    {Name: 'Aaaa', Mail: 'aaaa', Number: '123456789', Note: 'hi'},
    {Name: 'Aa', Mail: 'aa@aaaaaaa.aaa', Number: '987654321', Note: 'yo'},
  ])
  t.deepEqual(maskRow(rows[0]!, {...how, policy: 'masked'}), {Name: 'Aaaa', Mail: 'aaaa', Number: '999999999', Note: 'aa'})
  t.deepEqual(maskRow(rows[0]!, {...how, policy: 'deny'}), {Name: null, Mail: null, Number: null, Note: null})
  t.deepEqual(maskRow({constructor: 'Anna'}, {personal: {}, policy: 'allow'}), {constructor: 'Anna'})
})

test('a long value is judged in time that grows with its length alone', t => {
  const started = performance.now()
  for (const nasty of ['1 '.repeat(200_000), 'a@'.repeat(200_000), 'DE89 '.repeat(100_000), '-'.repeat(400_000), '1-'.repeat(200_000)])
    looksPersonal(nasty)
  t.true(performance.now() - started < 3000)
})
