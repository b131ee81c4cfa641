/** The expectations for one column, as the API returns them. `emptyShare`: the largest accepted share of empty cells, from 0 to 1. */
export type ColumnExpectations = {
  name: string
  present: boolean
  type: string | null
  unique: boolean
  values: string[] | null
  picklist: {module: string; field: string} | null
  emptyShare: number | null
}
export type SourceContract = {
  slot: string
  columns: ColumnExpectations[]
  otherColumns: 'allow' | 'refuse'
  rows: {least: number | null; most: number | null; change: number | null}
}

/**
 * The expectations for one column, as the form shows them. `values`: one value a line. `empty`: the largest accepted share of empty cells, in
 * per cent.
 */
export type ColumnDraft = Omit<ColumnExpectations, 'values' | 'emptyShare'> & {values: string; empty: string}
export type SourceDraft = {
  slot: string
  columns: ColumnDraft[]
  refusesOthers: boolean
  least: string
  most: string
  change: string
}

type Slot = {slot: string; columns: string[]}

const asPercent = (share: number | null) => (share === null ? '' : String(Math.round(share * 10_000) / 100))
const asText = (number: number | null) => (number === null ? '' : String(number))

const emptyColumn = (name: string): ColumnExpectations => ({
  name,
  present: false,
  type: null,
  unique: false,
  values: null,
  picklist: null,
  emptyShare: null,
})
const emptySource = (slot: string): SourceContract => ({
  slot,
  columns: [],
  otherColumns: 'allow',
  rows: {least: null, most: null, change: null},
})

/** Returns the draft of a contract, with a row for each column of the template and of the contract. */
export const draftOf = (slots: readonly Slot[], contract: readonly SourceContract[]): SourceDraft[] =>
  slots.map(({slot, columns}) => {
    const source = contract.find(one => one.slot === slot) ?? emptySource(slot)
    const others = source.columns.filter(({name}) => !columns.includes(name))
    const all = [...columns.map(name => source.columns.find(one => one.name === name) ?? emptyColumn(name)), ...others]
    const {least, most, change} = source.rows
    return {
      slot,
      columns: all.map(({values, emptyShare, ...column}) => ({...column, values: (values ?? []).join('\n'), empty: asPercent(emptyShare)})),
      refusesOthers: source.otherColumns === 'refuse',
      least: asText(least),
      most: asText(most),
      change: asPercent(change),
    }
  })

/** Returns the columns of a draft, so that a learnt draft replaces the expectations of each of them. */
export const columnsOf = (drafts: readonly SourceDraft[]): Slot[] =>
  drafts.map(({slot, columns}) => ({slot, columns: columns.map(({name}) => name)}))

type FileDraft = Omit<SourceDraft, 'columns'>
/** The draft of a contract by file and column. If two people change a contract, each column is merged separately. */
export type ContractFields = Record<string, FileDraft | ColumnDraft>

export const toFields = (drafts: readonly SourceDraft[]): ContractFields =>
  Object.fromEntries(
    drafts.flatMap(({columns, ...file}): [string, FileDraft | ColumnDraft][] => [
      [JSON.stringify([file.slot]), file],
      ...columns.map((column): [string, ColumnDraft] => [JSON.stringify([file.slot, column.name]), column]),
    ]),
  )

export const fromFields = (fields: ContractFields): SourceDraft[] => {
  const named = Object.entries(fields).map(([key, value]) => ({slot: JSON.parse(key)[0] as string, value}))
  return named.flatMap(({slot, value}) =>
    'slot' in value ? [{...value, columns: named.flatMap(one => (one.slot === slot && 'name' in one.value ? [one.value] : []))}] : [],
  )
}

const numberIn = (text: string): number | null => (text.trim() === '' ? null : Number(text))
const shareIn = (text: string): number | null => (text.trim() === '' ? null : Number(text) / 100)

const expectsNothing = ({present, type, unique, values, picklist, emptyShare}: ColumnExpectations) =>
  !present && type === null && !unique && values === null && picklist === null && emptyShare === null

/** Returns the contract of a draft. Columns and files that expect nothing are omitted. */
export const contractIn = (drafts: readonly SourceDraft[]): SourceContract[] =>
  drafts.map(sourceIn).filter(({columns, otherColumns, rows}) => columns.length > 0 || otherColumns === 'refuse' || hasLimit(rows))

const hasLimit = ({least, most, change}: SourceContract['rows']) => least !== null || most !== null || change !== null

const sourceIn = ({slot, columns, refusesOthers, least, most, change}: SourceDraft): SourceContract => ({
  slot,
  columns: columns.map(columnIn).filter(column => !expectsNothing(column)),
  otherColumns: refusesOthers ? 'refuse' : 'allow',
  rows: {least: numberIn(least), most: numberIn(most), change: shareIn(change)},
})

const columnIn = ({values, empty, ...column}: ColumnDraft): ColumnExpectations => {
  const stated = values
    .split('\n')
    .map(value => value.trim())
    .filter(value => value !== '')
  return {...column, values: stated.length > 0 && column.picklist === null ? stated : null, emptyShare: shareIn(empty)}
}
