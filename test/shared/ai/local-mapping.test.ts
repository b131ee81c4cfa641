import test from 'ava'
import {judgeColumns, mapInSlices} from '../../../shared/ai/local-mapping.ts'
import {proposeMapping} from '../../../shared/ai/matcher/propose.ts'
import type {PersonalField} from '../../../shared/ai/personal-fields.ts'
import {field} from '../../discovered.ts'

const matchFields = (labels: readonly string[]) => labels.map(label => ({module: 'People', apiName: label, label, dataType: 'text'}))
const columnsOf = (names: readonly string[]) => names.map(name => ({name, samples: []}))

test('a narrow file is mapped in one go, a wide one in parts, and both without a field twice', async t => {
  const narrow = columnsOf(['Surname', 'Town', 'Qzx'])
  const few = matchFields(['Last Name', 'City', 'Color'])
  t.deepEqual(await mapInSlices(narrow, few, []), proposeMapping({columns: narrow, fields: few}))
  const labels = Array.from({length: 300}, (_, at) => `Part${String.fromCodePoint(97 + (at % 26), 97 + Math.floor(at / 26))} Weight`)
  const wide = columnsOf([...labels, ...labels.map(label => `${label} again`)].slice(0, 400))
  let turns = 0
  const beat = setInterval(() => (turns += 1), 0)
  const proposals = await mapInSlices(wide, matchFields(labels), [])
  clearInterval(beat)
  t.true(turns > 3, 'others have their turns between')
  t.deepEqual(
    proposals.map(({column}) => column),
    wide.map(({name}) => name),
  )
  const given = proposals.flatMap(({field: one}) => (one === null ? [] : [one]))
  t.is(new Set(given).size, given.length)
  t.true(given.length >= 300)
})

const personal = (label: string, sources: string[] = []): PersonalField => ({
  ...{module: 'People', connectorId: 'con', field: field(label.replaceAll(' ', '_'), {label}), sources},
  annotation: {apiName: label, pii: true} as PersonalField['annotation'],
})
const judged = (names: readonly string[], fields: PersonalField[]) =>
  judgeColumns(columnsOf(names), {personal: fields}, []).map(({pii}) => pii)

test('a column is personal by the field’s own name, by what is like it, and by what usually fills it', t => {
  const fields = [personal('Secret Code', ['Zzq 2']), personal('Phone')]
  t.deepEqual(judged(['secret_code (old)', 'SecretCode', 'Telefon 3', 'zzq-2', 'Hue'], fields), [true, true, true, true, false])
  t.deepEqual(judged(['Hue', 'Secret Code'], []), [false, false])
})

test('of more columns and personal fields than are looked at in a moment, the rest are personal', t => {
  const fields = Array.from({length: 300}, (_, at) => personal(`Word${String.fromCodePoint(97 + (at % 26), 97 + Math.floor(at / 26))}`))
  const found = judged(
    Array.from({length: 200}, () => 'Hue'),
    fields,
  )
  t.deepEqual([found[0], found[99], found[100], found[199]], [false, false, true, true])
  const same = Array.from({length: 300}, () => personal('Phone'))
  t.false(
    judged(
      Array.from({length: 200}, () => 'Hue'),
      same,
    ).includes(true),
    'the same field of many modules is looked at once',
  )
})
