import test from 'ava'
import fc from 'fast-check'
import {isCalledPersonal, looksPersonal} from '../../../shared/assistant/personal.ts'
import {maskSamples, openTextMask, type SampledColumn} from '../../../shared/assistant/sample-masking.ts'
import {shapeOf, shapesOf} from '../../../shared/assistant/shape.ts'
import {AI_SAMPLE_POLICIES} from '../../../shared/configuration/settings.ts'
import {canary, traces} from '../../support/canaries.ts'

const text = fc.oneof(fc.string(), fc.string({unit: 'binary'}), fc.string({unit: 'grapheme'}), fc.lorem(), fc.emailAddress())
const isShape = (value: string) => /^[Aa9 .,;:@+/()_-]{0,40}$/.test(value) || value === 'other'

test('a shape has only shape characters, and never the same one twice in a row', async t => {
  fc.assert(
    fc.property(text, value => isShape(shapeOf(value)) && !/(.)\1/.test(shapeOf(value))),
    {numRuns: 2000},
  )
  t.is(shapeOf('Anna Berg'), 'Aa Aa')
  t.is(shapeOf('Łukasz Öztürk-Ōe'), 'Aa Aa-Aa')
  t.is(shapeOf('anna.berg@example.org'), 'a.a@a.a')
  t.is(shapeOf('+49 (30) 901820'), '+9 (9) 9')
  t.is(shapeOf('東京'), 'a')
  t.is(shapeOf('aB'.repeat(1000)).length, 40)
})

test('a shape reveals no letters, digits or lengths', async t => {
  const runOf = (alphabet: string) => fc.array(fc.constantFrom(...alphabet), {minLength: 1, maxLength: 8}).map(run => run.join(''))
  const runs = [runOf('abcdefghij'), runOf('ABCDEFGHIJ'), runOf('0123456789')]
  const twins = fc
    .array(fc.nat({max: 2}), {maxLength: 12})
    .chain(kinds => fc.tuple(...[0, 1].map(() => fc.tuple(...kinds.map(kind => runs[kind]!)).map(parts => parts.join('')))))
  fc.assert(fc.property(twins, ([one, other]) => shapeOf(one!) === shapeOf(other!)))
  t.pass()
})

test('a shape of only one value is replaced, and equal values count once', async t => {
  t.deepEqual(shapesOf(['Anna Berg', 'Bo Li', 'Jo-Ann Wu']), ['Aa Aa', 'other'])
  t.deepEqual(shapesOf(['Anna Berg', 'Anna Berg']), ['other'])
  t.deepEqual(shapesOf([]), [])
})

/**
 * A column that is not personal. Each of the next columns is or may be personal for another reason. `TABLE` holds for each column and policy the
 * samples that remain, and the resulting sample level.
 */
const plain = {name: 'Color', samples: ['Blue', 'Red', 'Blue'], pii: false}
const annotated = {name: 'Color', samples: ['Blue', 'Red', 'Pink Rose'], pii: true}
const looking = {name: 'Info', samples: ['anna@example.org', 'bo@example.org'], pii: false}
const called = {name: 'First Name', samples: ['Anna', 'Bo'], pii: false}
const prose = {name: 'Remark', samples: ['Her brother asked for her on Tuesday evening at seven', 'No'], pii: false}
const TABLE: [string, SampledColumn, Record<(typeof AI_SAMPLE_POLICIES)[number], [string[], string]>][] = [
  ['not personal', plain, {allow: [['Blue', 'Red'], 'allow'], masked: [['Blue', 'Red'], 'values'], deny: [[], 'none']}],
  ['annotated', annotated, {allow: [['Aa', 'other'], 'masked'], masked: [['Aa', 'other'], 'masked'], deny: [[], 'none']}],
  ['looking so', looking, {allow: [['a@a.a'], 'masked'], masked: [['a@a.a'], 'masked'], deny: [[], 'none']}],
  ['called so', called, {allow: [['Anna', 'Bo'], 'allow'], masked: [['Aa'], 'masked'], deny: [[], 'none']}],
  ['prose', prose, {allow: [[...prose.samples], 'allow'], masked: [['other'], 'masked'], deny: [[], 'none']}],
  ['empty', {...plain, samples: ['', ' ']}, {allow: [[], 'none'], masked: [[], 'none'], deny: [[], 'none']}],
]
for (const [why, column, expected] of TABLE)
  for (const policy of AI_SAMPLE_POLICIES)
    test(`${policy}: samples of a column that is ${why}`, async t => {
      const {columns, samples} = await maskSamples(policy, [column])
      t.deepEqual([columns[0]!.samples, samples], expected[policy])
      t.is(columns[0]!.name, column.name)
    })

test('a personal value is redacted wherever it recurs: in columns, column names and typed text', async t => {
  const columns = [
    {name: 'Surname', samples: ['Lindqvist', 'Åström'], pii: true},
    {name: 'Assignee lindqvist', samples: ['see LINDQVIST', 'astrom', 'nobody'], pii: false},
  ]
  const {columns: sent} = await maskSamples('allow', columns)
  t.deepEqual(sent[1], {name: 'Assignee […]', samples: ['see […]', '[…]', 'nobody'], personal: false})
  t.is((await openTextMask('allow', columns))('Why is Lindqvist not upper case, and ÅSTRÖM is?'), 'Why is […] not upper case, and […] is?')
  t.is((await openTextMask('masked', columns))('Write to bo@example.org about LINDQVIST'), 'Write to a@a.a about […]')
  t.is((await openTextMask('deny', columns))('Split the name'), 'Split the name')
})

test('a personal value is found despite other letter forms, blanks and invisible characters', async t => {
  const columns = [{name: 'Who', samples: ['Weißmüller Jr', 'ΟΔΥΣΣΕΥΣ', 'Ana', '田中', 'İnci Ali', 'x.*(y)?', 'Ｗｉｄｅ'], pii: true}]
  const told: Record<string, string> = {
    'see WEISSMÜLLER  JR!': 'see […]!',
    'see weissmuller\u00a0jr': 'see […]',
    'Wei\u200bß\u00admu\u0308ller\u202e Jr': '[…]',
    'ο οδυσσευς και οδυσσευσς': 'ο […] και […]ς',
    'Ana, Anatol and ana': '[…], Anatol and […]',
    前田中さん: '前[…]さん',
    'inci ali': '[…]',
    'x.*(y)?z': '[…]z',
    wide: '[…]',
    'An IBAN DE89 3704 0044 0532 0130 00 of 31.12.1980': 'An IBAN A9 9 9 9 9 9 of 31.12.1980',
    'call 0151 234 5678 or anna (at) example.org': 'call 9 9 9 or a@a.a',
  }
  for (const [text, left] of Object.entries(told)) t.is((await openTextMask('allow', columns))(text), left)
})

test('a personal value of three characters is masked as a whole word in any case', async t => {
  const columns = [{name: 'Code', samples: ['bob', 'x7q', '042', 'J.D'], pii: true}]
  const text = await openTextMask('allow', columns)
  t.is(text('BOB, Bobby and bob'), '[…], Bobby and […]')
  t.is(text('x7q x7qa ax7q "X7Q"'), '[…] x7qa ax7q "[…]"')
  t.is(text('042, 1042 and 0421; j.d J.Doe'), '[…], 1042 and 0421; […] J.Doe')
})

test('under masking, names in a column of unknown meaning become shapes', async t => {
  const people = {name: 'Field7', samples: ['Anna Berg', "Bo O'Neill", 'Li, Jo', 'Müller-Wolf Ida'], pii: false}
  const towns = {...people, name: 'City'}
  const tiers = {name: 'Field8', samples: ['Gold Partner', 'Gold Partner', 'Gold Partner', 'Silver Partner'], pii: false}
  const [one, other, third] = (await maskSamples('masked', [people, towns, tiers])).columns.map(({personal}) => personal)
  t.deepEqual([one, other, third], [true, false, false])
  t.false((await maskSamples('allow', [people])).columns[0]!.personal)
})

test('redaction takes bounded time for many and for similar values', async t => {
  const alike = (of: number) => Array.from({length: 20}, (_, at) => `${'a'.repeat(4 + ((of * 20 + at) % 60))}${of}b${at}`)
  const columns = [
    ...Array.from({length: 250}, (_, at) => ({name: `C${at}`, samples: alike(at), pii: true})),
    ...Array.from({length: 25}, (_, at) => ({name: `D${at}`, samples: ['a'.repeat(9_000)], pii: false})),
  ]
  const started = performance.now()
  await maskSamples('allow', columns)
  const mask = await openTextMask('allow', columns)
  mask('a'.repeat(4_000))
  t.true(performance.now() - started < 15_000)
})

test('a header that looks personal is treated as the first row of a file without header', async t => {
  const namesOf = async (...names: string[]) => {
    const {columns} = await maskSamples(
      'allow',
      names.map(name => ({name, samples: [], pii: false})),
    )
    return columns.map(({name}) => name)
  }
  t.deepEqual(await namesOf('anna@example.org', 'Anna Berg'), ['a@a.a', 'Aa Aa'])
  t.deepEqual(await namesOf('anna@example.org', 'Anna Berg', 'Phone'), ['a@a.a', 'Anna Berg', 'Phone'])
})

test('long values are cut, only twenty are sent, and a cut leaves no part of a personal value', async t => {
  const long = `${'x'.repeat(50)} Katharina`
  const {columns} = await maskSamples('allow', [
    {name: 'Who', samples: ['Katharina'], pii: true},
    {name: 'Note', samples: [long, ...Array.from({length: 50}, (_, at) => `v${at}`)], pii: false},
  ])
  t.is(columns[1]!.samples.length, 20)
  t.true(columns[1]!.samples.every(value => value.length <= 60 && !/Kath/.test(value)))
})

test('no trace of a personal value leaves, under any policy and wherever it was repeated', async t => {
  const cell = fc.nat({max: 1_000_000}).map(canary)
  const around = fc.constantFrom('', 'ask ', '<', 'Mr. ')
  const policy = fc.constantFrom(...AI_SAMPLE_POLICIES)
  await fc.assert(
    fc.asyncProperty(fc.array(cell, {minLength: 1, maxLength: 8}), around, policy, async (secrets, before, how) => {
      const columns = [
        {name: 'Secret', samples: secrets, pii: true},
        {name: 'Other', samples: secrets.map(secret => `${before}${secret.toUpperCase()}`), pii: false},
        {name: `About ${secrets[0]}`, samples: ['Blue'], pii: false},
      ]
      const text = await openTextMask(how, columns)
      const sent = JSON.stringify([await maskSamples(how, columns), text(`What of ${secrets.at(-1)}?`)])
      return secrets.every(secret => traces(secret, sent).length === 0)
    }),
    {numRuns: 300},
  )
  t.pass()
})

const PERSONAL = [
  'anna@example.org',
  'write to anna.berg@example.co.uk please',
  'Anna <a@b.de>',
  '+49 30 901820',
  '(030) 901-8204',
  '0151 2345678',
  '+4915123456789',
  'DE89370400440532013000',
  'DE89 3704 0044 0532 0130 00',
  'GB29 NWBK 6016 1331 9268 19',
  '123-45-6789',
  '０１５１ ２３４５６７８',
  'anna＠example．org',
  '0151\u200b2345678',
  '+49\u2060 30\u00ad901820',
  'a\u200bnna@exam\u00adple.org',
  '4111 1111 1111 1111',
  '123456789',
  '0 1 5 1 2 3 4 5 6 7 8',
  '0151_234_5678',
  '0151–2345–678',
  '0151\t234\n5678',
  '٠١٥١٢٣٤٥٦٧٨',
  'de89 3704 0044 0532 0130 00',
  'DE89\u00a03704\u20090044 0532 0130 00',
  'anna @ example.org',
  'anna(at)example.org',
  'anna [at] example [dot] org',
]
const PLAIN = [
  'Anna',
  'blue',
  '',
  '2024-01-31',
  '2024-01-31 12:00:00',
  '2024-01-31T12:00:00.000Z',
  '2024-01-31T12:00:00+02:00',
  '31.12.2024',
  '12/31/24',
  '1234.56',
  '99999999',
  '1.2.3',
  'SKU-1234',
  'Order 12345',
  '1234567.5',
  '@home',
  'a @ b',
]
test('addresses, telephone numbers and long numbers look personal; dates and amounts do not', async t => {
  for (const value of PERSONAL) t.true(looksPersonal(value), value)
  for (const value of PLAIN) t.false(looksPersonal(value), value)
  const around = fc.lorem({maxCount: 3})
  fc.assert(fc.property(around, fc.emailAddress(), around, (before, address, after) => looksPersonal(`${before} ${address} ${after}`)))
})

test('column names for people are personal in several languages, and those for things are not', async t => {
  const people = [
    'First Name',
    'lastName',
    'Nachname',
    'Téléphone',
    'E-Mail',
    'contact',
    'Geburtsdatum',
    'Name',
    'Kunde',
    'Straße',
    'customer_name',
  ]
  for (const name of people) t.true(isCalledPersonal(name), name)
  for (const name of ['Company Name', 'Product', 'Amount', 'Lead Source', 'Stage', 'Firmenkürzel', 'Account Name'])
    t.false(isCalledPersonal(name), name)
})

test('judging a long value takes time linear in its length', async t => {
  const started = performance.now()
  for (const nasty of ['1 '.repeat(200_000), 'a@'.repeat(200_000), 'DE89 '.repeat(100_000), '-'.repeat(400_000), '1-'.repeat(200_000)])
    looksPersonal(nasty)
  t.true(performance.now() - started < 15_000)
})
