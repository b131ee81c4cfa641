import test from 'ava'
import {openOutputMask} from '../../../shared/assistant/chat/output-mask.ts'

const people = {name: 'Home Street', samples: ['Quittenweg Street 7', 'Anna Zwölfender', 'Hue House', '4711471'], pii: true}
const plain = {name: 'Hue', samples: ['teal', 'pink'], pii: false}
const elsewhere = {name: 'Nick', samples: ['Rumpelstilz'], pii: true}
const out = await openOutputMask('allow', [people, plain], [elsewhere])

test('whole personal values are redacted everywhere, including names, numbers and keys of results; other text is unchanged', async t => {
  const clean = {fields: ['Home Street', 'Hue', 'teal'], rows: 12, none: null}
  t.is(out.value(clean), clean)
  const struck = JSON.stringify(out.value({value: {'ANNA ZWÖLFENDER': [{deep: 'so rumpelstilz.'}]}, no: 4711471, hue: 'teal', of: 12}))
  t.notRegex(struck, /zwölfender|rumpelstilz|4711471/i)
  t.regex(struck, /"hue":"teal","of":12/)
})

test('a message is sent without the words of personal values, except words of headers and of non-personal values', async t => {
  const said = out.turnText('Why are Zwölfenders, QUITTENWEG and Rumpelstilz refused, whose Home Street and Hue are teal?')
  t.notRegex(said, /zwölfender|quittenweg|rumpelstilz/i)
  t.regex(said, /^Why are \[…\]s, \[…\] and \[…\] refused, whose Home Street and Hue are teal\?$/)
  t.is(out.text('Quittenweg'), 'Quittenweg', 'a label may have one of their words')
})

test('the sample level reported is the most revealing one that was sent', async t => {
  const quiet = await openOutputMask('masked', [], [people])
  t.is(quiet.sent(), 'none')
  await quiet.sample([{name: 'Code', samples: ['Aa 1', 'Bb 2'], pii: true}])
  t.is(quiet.sent(), 'masked')
  const [shade] = await quiet.sample([{name: 'Shade', samples: ['teal', 'Anna Zwölfender'], pii: false}])
  t.is(shade!.samples[0], 'teal')
  t.notRegex(shade!.samples[1]!, /anna|zwölf/i)
  t.is(quiet.sent(), 'values')
  await quiet.sample([{name: 'Code', samples: ['Aa 1', 'Bb 2'], pii: true}])
  t.is(quiet.sent(), 'values')
})

test('redaction patterns are built once per conversation, not per text', async t => {
  let reads = 0
  const counted = {
    name: 'Nick',
    pii: true,
    get samples() {
      reads += 1
      return ['Rumpelstilz']
    },
  }
  const quiet = await openOutputMask('allow', [counted])
  const before = reads
  t.deepEqual(quiet.value([{a: 'rumpelstilz'}, 'b']), [{a: '[…]'}, 'b'])
  t.is(quiet.turnText('Why Rumpelstilz?') + quiet.text('Rumpelstilz'), 'Why […]?[…]')
  t.is(reads, before)
})

test('a property name of a tool stays even if a personal value equals it, and columns of one masked name get different names', async t => {
  const cells = ['Anna Schmidt', 'Emil Fischer'].map(name => ({name, samples: ['results', 'problem'], pii: true}))
  const quiet = await openOutputMask('masked', [...cells, {name: 'a@rows.example', samples: ['b@rows.example'], pii: false}])
  t.deepEqual(quiet.value({results: [{row: 1, problem: 'results', value: {problem: 1}}]}), {
    results: [{row: 1, problem: '[…]', value: {'[…]': 1}}],
  })
  const names = quiet.columns.map(({name}) => name)
  t.deepEqual(names, ['Aa Aa', 'Aa Aa (2)', 'a@a.a'])
})
