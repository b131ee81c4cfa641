import {html} from '../html.ts'
import {t} from '../text/contracts.ts'
import {Check, Select, TextArea, TextField} from '../ui/field.ts'
import {Table} from '../ui/table.ts'
import type {ColumnDraft, SourceDraft} from './contract-draft.ts'

type SourceProps = {label: string; draft: SourceDraft; isFixed: boolean; set: (draft: SourceDraft) => void}

const types = [{value: '', label: t.anyType}, ...Object.entries(t.types).map(([value, label]) => ({value, label}))]

/** The form for the expectations of one file. `isFixed` makes the form read-only. */
export const SourceFields = ({label, draft, isFixed, set}: SourceProps) => {
  const change = (column: ColumnDraft) => set({...draft, columns: draft.columns.map(one => (one.name === column.name ? column : one))})
  const number = (name: string, key: 'least' | 'most' | 'change', hint?: string) =>
    html`<${TextField} type="number" min="0" step="any" label=${name} hint=${hint} disabled=${isFixed} value=${draft[key]} onInput=${(value: string) => set({...draft, [key]: value})} />`
  return html`
    <h3>${label}</h3>
    <${Table} caption=${t.ofColumn(t.dataContract, label)} rows=${draft.columns} keyOf=${({name}: ColumnDraft) => name} columns=${columnsOf(isFixed, change)} />
    <${Check} label=${t.otherColumns} checked=${draft.refusesOthers} disabled=${isFixed} onChange=${(refusesOthers: boolean) => set({...draft, refusesOthers})} />
    <div class="columns">${number(t.fewestRows, 'least')}${number(t.mostRows, 'most')}${number(t.deviation, 'change', t.fromTheMedian)}</div>
  `
}

const columnsOf = (isFixed: boolean, set: (column: ColumnDraft) => void) => [
  {head: t.column, isName: true, cell: ({name}: ColumnDraft) => name},
  {
    head: t.mustExist,
    cell: (column: ColumnDraft) =>
      html`<${Tick} name=${t.ofColumn(t.mustExist, column.name)} isOn=${column.present} isFixed=${isFixed} set=${(present: boolean) => set({...column, present})} />`,
  },
  {
    head: t.type,
    cell: (column: ColumnDraft) =>
      html`<${Select} isHidden label=${t.ofColumn(t.type, column.name)} options=${types} value=${column.type ?? ''} disabled=${isFixed} onChange=${(type: string) => set({...column, type: type || null})} />`,
  },
  {
    head: t.onceOnly,
    cell: (column: ColumnDraft) =>
      html`<${Tick} name=${t.ofColumn(t.onceOnly, column.name)} isOn=${column.unique} isFixed=${isFixed} set=${(unique: boolean) => set({...column, unique})} />`,
  },
  {
    head: t.emptyAtMost,
    cell: (column: ColumnDraft) =>
      html`<${TextField} isHidden type="number" min="0" max="100" step="any" label=${t.ofColumn(t.emptyAtMost, column.name)} disabled=${isFixed} value=${column.empty} onInput=${(empty: string) => set({...column, empty})} />`,
  },
  {
    head: t.allowedValues,
    cell: (column: ColumnDraft) =>
      column.picklist
        ? t.picklistOf(column.picklist.module, column.picklist.field)
        : html`<${TextArea} isHidden rows="1" label=${t.ofColumn(t.allowedValues, column.name)} placeholder=${t.onePerLine} disabled=${isFixed} value=${column.values} onInput=${(values: string) => set({...column, values})} />`,
  },
]

type TickProps = {name: string; isOn: boolean; isFixed: boolean; set: (isOn: boolean) => void}

const Tick = ({name, isOn, isFixed, set}: TickProps) => html`
  <input type="checkbox" aria-label=${name} checked=${isOn} disabled=${isFixed} onChange=${(event: Event) => set((event.target as HTMLInputElement).checked)} />
`
