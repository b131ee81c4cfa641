import test from 'ava'
import fc from 'fast-check'
import {maskSamples, openTextMask, type Sampled} from '../../../shared/ai/outgoing.ts'
import {isCalledPersonal, looksPersonal} from '../../../shared/ai/personal.ts'
import {shapeOf, shapesOf} from '../../../shared/ai/shape.ts'
import {AI_SAMPLE_POLICIES} from '../../../shared/registry/settings.ts'
import {canary, traces} from '../../canaries.ts'

const text = fc.oneof(fc.string(), fc.string({unit: 'binary'}), fc.string({unit: 'grapheme'}), fc.lorem(), fc.emailAddress())
const isShape = (value: string) => /^[Aa9 .,;:@+/()_-]{0,40}$/.test(value) || value === 'other'

test('a shape is made of shape characters alone, and no two beside each other are one', t => {
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

test('a shape tells nothing of letters, digits or lengths', t => {
  const runOf = (alphabet: string) => fc.array(fc.constantFrom(...alphabet), {minLength: 1, maxLength: 8}).map(run => run.join(''))
  const runs = [runOf('abcdefghij'), runOf('ABCDEFGHIJ'), runOf('0123456789')]
  const twins = fc
    .array(fc.nat({max: 2}), {maxLength: 12})
    .chain(kinds => fc.tuple(...[0, 1].map(() => fc.tuple(...kinds.map(kind => runs[kind]!)).map(parts => parts.join('')))))
  fc.assert(fc.property(twins, ([one, other]) => shapeOf(one!) === shapeOf(other!)))
  t.pass()
})

test('a shape only one value has is told as another, and the same value twice is one', t => {
  t.deepEqual(shapesOf(['Anna Berg', 'Bo Li', 'Jo-Ann Wu']), ['Aa Aa', 'other'])
  t.deepEqual(shapesOf(['Anna Berg', 'Anna Berg']), ['other'])
  t.deepEqual(shapesOf([]), [])
})

/** Policy × why a column is personal: what is left of it, and how the whole is called. */
const plain = {name: 'Color', samples: ['Blue', 'Red', 'Blue'], pii: false}
const annotated = {name: 'Color', samples: ['Blue', 'Red', 'Pink Rose'], pii: true}
const looking = {name: 'Info', samples: ['anna@example.org', 'bo@example.org'], pii: false}
const called = {name: 'First Name', samples: ['Anna', 'Bo'], pii: false}
const prose = {name: 'Remark', samples: ['Her brother asked for her on Tuesday evening at seven', 'No'], pii: false}
const TABLE: [string, Sampled, Record<(typeof AI_SAMPLE_POLICIES)[number], [string[], string]>][] = [
  ['nobody’s', plain, {allow: [['Blue', 'Red'], 'allow'], masked: [['Blue', 'Red'], 'values'], deny: [[], 'none']}],
  ['annotated', annotated, {allow: [['Aa', 'other'], 'masked'], masked: [['Aa', 'other'], 'masked'], deny: [[], 'none']}],
  ['looking so', looking, {allow: [['a@a.a'], 'masked'], masked: [['a@a.a'], 'masked'], deny: [[], 'none']}],
  ['called so', called, {allow: [['Anna', 'Bo'], 'allow'], masked: [['Aa'], 'masked'], deny: [[], 'none']}],
  ['prose', prose, {allow: [[...prose.samples], 'allow'], masked: [['other'], 'masked'], deny: [[], 'none']}],
  ['empty', {...plain, samples: ['', ' ']}, {allow: [[], 'none'], masked: [[], 'none'], deny: [[], 'none']}],
]
for (const [why, column, expected] of TABLE)
  for (const policy of AI_SAMPLE_POLICIES)
    test(`${policy}: a column that is ${why}`, t => {
      const {columns, samples} = maskSamples(policy, [column])
      t.deepEqual([columns[0]!.samples, samples], expected[policy])
      t.is(columns[0]!.name, column.name)
    })

test('a personal value is struck out wherever else it stands: other columns, names of columns, what a person writes', t => {
  const columns = [
    {name: 'Surname', samples: ['Lindqvist', 'Åström'], pii: true},
    {name: 'Assignee lindqvist', samples: ['see LINDQVIST', 'astrom', 'nobody'], pii: false},
  ]
  const {columns: sent} = maskSamples('allow', columns)
  t.deepEqual(sent[1], {name: 'Assignee […]', samples: ['see […]', '[…]', 'nobody'], personal: false})
  t.is(openTextMask('allow', columns)('Why is Lindqvist not upper case, and ÅSTRÖM is?'), 'Why is […] not upper case, and […] is?')
  t.is(openTextMask('masked', columns)('Write to bo@example.org about LINDQVIST'), 'Write to a@a.a about […]')
  t.is(openTextMask('deny', columns)('Split the name'), 'Split the name')
})

test('a value is found whatever it was made of: other letters for the same, blanks, marks that are not seen', t => {
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
  for (const [text, left] of Object.entries(told)) t.is(openTextMask('allow', columns)(text), left)
})

test('a personal value of three characters is struck out as a word of its own, whatever its case', t => {
  const columns = [{name: 'Code', samples: ['bob', 'x7q', '042', 'J.D'], pii: true}]
  const text = openTextMask('allow', columns)
  t.is(text('BOB, Bobby and bob'), '[…], Bobby and […]')
  t.is(text('x7q x7qa ax7q "X7Q"'), '[…] x7qa ax7q "[…]"')
  t.is(text('042, 1042 and 0421; j.d J.Doe'), '[…], 1042 and 0421; […] J.Doe')
})

test('names in a column called after nothing are shapes, where the policy is to mask', t => {
  const people = {name: 'Field7', samples: ['Anna Berg', "Bo O'Neill", 'Li, Jo', 'Müller-Wolf Ida'], pii: false}
  const towns = {...people, name: 'City'}
  const tiers = {name: 'Field8', samples: ['Gold Partner', 'Gold Partner', 'Gold Partner', 'Silver Partner'], pii: false}
  const [one, other, third] = maskSamples('masked', [people, towns, tiers]).columns.map(({personal}) => personal)
  t.deepEqual([one, other, third], [true, false, false])
  t.false(maskSamples('allow', [people]).columns[0]!.personal)
})

test('how many values there are, and how alike, makes no difference to the time it takes', t => {
  const alike = (of: number) => Array.from({length: 20}, (_, at) => `${'a'.repeat(4 + ((of * 20 + at) % 60))}${of}b${at}`)
  const columns = [
    ...Array.from({length: 250}, (_, at) => ({name: `C${at}`, samples: alike(at), pii: true})),
    ...Array.from({length: 25}, (_, at) => ({name: `D${at}`, samples: ['a'.repeat(9_000)], pii: false})),
  ]
  const started = performance.now()
  maskSamples('allow', columns)
  openTextMask('allow', columns)('a'.repeat(4_000))
  t.true(performance.now() - started < 15_000)
})

test('a header that looks personal is the first row of a file without one', t => {
  const namesOf = (...names: string[]) =>
    maskSamples(
      'allow',
      names.map(name => ({name, samples: [], pii: false})),
    ).columns.map(({name}) => name)
  t.deepEqual(namesOf('anna@example.org', 'Anna Berg'), ['a@a.a', 'Aa Aa'])
  t.deepEqual(namesOf('anna@example.org', 'Anna Berg', 'Phone'), ['a@a.a', 'Anna Berg', 'Phone'])
})

test('long values are cut, many are few, and half a personal value is not left by cutting', t => {
  const long = `${'x'.repeat(50)} Katharina`
  const {columns} = maskSamples('allow', [
    {name: 'Who', samples: ['Katharina'], pii: true},
    {name: 'Note', samples: [long, ...Array.from({length: 50}, (_, at) => `v${at}`)], pii: false},
  ])
  t.is(columns[1]!.samples.length, 20)
  t.true(columns[1]!.samples.every(value => value.length <= 60 && !/Kath/.test(value)))
})

test('no trace of a personal value in anything that leaves, whatever the policy and wherever it was repeated', t => {
  const cell = fc.nat({max: 1_000_000}).map(canary)
  const around = fc.constantFrom('', 'ask ', '<', 'Mr. ')
  const policy = fc.constantFrom(...AI_SAMPLE_POLICIES)
  fc.assert(
    fc.property(fc.array(cell, {minLength: 1, maxLength: 8}), around, policy, (secrets, before, how) => {
      const columns = [
        {name: 'Secret', samples: secrets, pii: true},
        {name: 'Other', samples: secrets.map(secret => `${before}${secret.toUpperCase()}`), pii: false},
        {name: `About ${secrets[0]}`, samples: ['Blue'], pii: false},
      ]
      const sent = JSON.stringify([maskSamples(how, columns), openTextMask(how, columns)(`What of ${secrets.at(-1)}?`)])
      return secrets.every(secret => traces(secret, sent).length === 0)
    }),
    {numRuns: 300},
  )
  t.pass()
})

const PERSONAL = [
  ...['anna@example.org', 'write to anna.berg@example.co.uk please', 'Anna <a@b.de>', '+49 30 901820', '(030) 901-8204', '0151 2345678'],
  ...['+4915123456789', 'DE89370400440532013000', 'DE89 3704 0044 0532 0130 00', 'GB29 NWBK 6016 1331 9268 19', '123-45-6789'],
  ...['０１５１ ２３４５６７８', 'anna＠example．org', '0151\u200b2345678', '+49\u2060 30\u00ad901820', 'a\u200bnna@exam\u00adple.org'],
  ...['4111 1111 1111 1111', '123456789', '0 1 5 1 2 3 4 5 6 7 8', '0151_234_5678', '0151–2345–678', '0151\t234\n5678', '٠١٥١٢٣٤٥٦٧٨'],
  ...[
    'de89 3704 0044 0532 0130 00',
    'DE89\u00a03704\u20090044 0532 0130 00',
    'anna @ example.org',
    'anna(at)example.org',
    'anna [at] example [dot] org',
  ],
]
const PLAIN = [
  ...['Anna', 'blue', '', '2024-01-31', '2024-01-31 12:00:00', '2024-01-31T12:00:00.000Z', '2024-01-31T12:00:00+02:00', '31.12.2024'],
  ...['12/31/24', '1234.56', '99999999', '1.2.3', 'SKU-1234', 'Order 12345', '1234567.5', '@home', 'a @ b'],
]
test('what looks like an address, a telephone or a long number is personal, and dates and amounts are not', t => {
  for (const value of PERSONAL) t.true(looksPersonal(value), value)
  for (const value of PLAIN) t.false(looksPersonal(value), value)
  const around = fc.lorem({maxCount: 3})
  fc.assert(fc.property(around, fc.emailAddress(), around, (before, address, after) => looksPersonal(`${before} ${address} ${after}`)))
})

test('columns called as people’s are, in several languages, are personal, and those of things are not', t => {
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

test('a long value is judged in time that grows with its length alone', t => {
  const started = performance.now()
  for (const nasty of ['1 '.repeat(200_000), 'a@'.repeat(200_000), 'DE89 '.repeat(100_000), '-'.repeat(400_000), '1-'.repeat(200_000)])
    looksPersonal(nasty)
  t.true(performance.now() - started < 15_000)
})
