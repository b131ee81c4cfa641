import test from 'ava'
import {judgeColumns} from '../../../shared/assistant/local-mapping.ts'
import {mapInSlices} from '../../../shared/assistant/matcher/map-slices.ts'
import {proposeMapping} from '../../../shared/assistant/matcher/propose.ts'
import type {PersonalField} from '../../../shared/assistant/personal-fields.ts'
import {parseHere} from '../../../shared/files/parser/pool.ts'
import {field} from '../../support/discovered.ts'

const matchFields = (labels: readonly string[]) => labels.map(label => ({module: 'People', apiName: label, label, dataType: 'text'}))
const columnsOf = (names: readonly string[]) => names.map(name => ({name, samples: []}))

test('a narrow file is mapped at once and a wide one in slices, and neither uses a field twice', t => {
  const narrow = columnsOf(['Surname', 'Town', 'Qzx'])
  const few = matchFields(['Last Name', 'City', 'Color'])
  t.deepEqual(mapInSlices({columns: narrow, fields: few, accepted: []}), proposeMapping({columns: narrow, fields: few}))
  const labels = Array.from({length: 300}, (_, at) => `Part${String.fromCodePoint(97 + (at % 26), 97 + Math.floor(at / 26))} Weight`)
  const wide = columnsOf([...labels, ...labels.map(label => `${label} again`)].slice(0, 400))
  const proposals = mapInSlices({columns: wide, fields: matchFields(labels), accepted: []})
  t.deepEqual(
    proposals.map(({column}) => column),
    wide.map(({name}) => name),
  )
  const given = proposals.flatMap(({field: one}) => (one === null ? [] : [one]))
  t.is(new Set(given).size, given.length)
  t.true(given.length >= 300)
})

const personal = (label: string, sources: string[] = []): PersonalField => ({
  module: 'People',
  connectorId: 'con',
  field: field(label.replaceAll(' ', '_'), {label}),
  sources,
  annotation: {apiName: label, pii: true} as PersonalField['annotation'],
})
const parsing = parseHere({} as never)
const judged = async (names: readonly string[], fields: PersonalField[]) =>
  (await judgeColumns({parsing, org: 'org'}, columnsOf(names), {personal: fields}, [])).map(({pii}) => pii)

test('a column is personal by the name of its field, a similar name, or its usual source', async t => {
  const fields = [personal('Secret Code', ['Zzq 2']), personal('Phone')]
  t.deepEqual(await judged(['secret_code (old)', 'SecretCode', 'Telefon 3', 'zzq-2', 'Hue'], fields), [true, true, true, true, false])
  t.deepEqual(await judged(['Hue', 'Secret Code'], []), [false, false])
})

test('columns and personal fields beyond the comparison limit are treated as personal', async t => {
  const fields = Array.from({length: 300}, (_, at) => personal(`Word${String.fromCodePoint(97 + (at % 26), 97 + Math.floor(at / 26))}`))
  const found = await judged(
    Array.from({length: 200}, () => 'Hue'),
    fields,
  )
  t.deepEqual([found[0], found[99], found[100], found[199]], [false, false, true, true])
  const same = Array.from({length: 300}, () => personal('Phone'))
  t.false(
    (
      await judged(
        Array.from({length: 200}, () => 'Hue'),
        same,
      )
    ).includes(true),
    'the same field of many modules is looked at once',
  )
})
