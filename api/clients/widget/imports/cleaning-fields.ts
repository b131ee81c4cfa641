import {html} from '../html.ts'
import {Check, Select, TextArea, TextField} from '../ui/field.ts'
import type {StepDraft, StepKind} from './cleaning.ts'
import {ColumnsField} from './columns-field.ts'

type Props = {draft: StepDraft; asks: StepKind['asks']; columns: string[]; change: (changes: Partial<StepDraft>) => void}

/** The input fields of a cleaning step. */
export const StepFields = ({draft, asks, columns, change}: Props) =>
  asks.map(ask => html`<${fields[ask]} key=${ask} draft=${draft} columns=${columns} change=${change} />`)

type FieldProps = Omit<Props, 'asks'>

const Columns = ({draft, columns, change}: FieldProps) => html`
  <${ColumnsField} label="Columns" hint="Choose none for all columns" columns=${columns} chosen=${draft.columns} onChange=${(chosen: string[]) => change({columns: chosen})} />
`

const SomeColumns = ({draft, columns, change}: FieldProps) => html`
  <${ColumnsField} label="Columns" columns=${columns} chosen=${draft.columns} onChange=${(chosen: string[]) => change({columns: chosen})} />
`

const Replace = ({draft, change}: FieldProps) => html`
  <div class="columns">
    <${TextField} label="Find" value=${draft.find} onInput=${(find: string) => change({find})} />
    <${TextField} label="Replace with" value=${draft.with} onInput=${(text: string) => change({with: text})} />
  </div>
  <${Check} label="Regular expression" hint="RE2 syntax. $1 is the first group" checked=${draft.regex} onChange=${(regex: boolean) => change({regex})} />
  <${IgnoreCase} draft=${draft} columns=${[]} change=${change} />
`

const IgnoreCase = ({draft, change}: FieldProps) => html`
  <${Check} label="Ignore case" checked=${draft.ignoreCase} onChange=${(ignoreCase: boolean) => change({ignoreCase})} />
`

const Split = ({draft, columns, change}: FieldProps) => html`
  <div class="columns">
    <${Select} label="Column" value=${draft.column} options=${[{value: '', label: 'Choose …'}, ...columns.map(name => ({value: name, label: name}))]} onChange=${(column: string) => change({column})} />
    <${TextField} label="Separator" hint="A space, a comma or any text" value=${draft.separator} onInput=${(separator: string) => change({separator})} />
    <${TextField} label="New columns" hint="Names separated by commas. The last column gets the rest" value=${draft.into} onInput=${(into: string) => change({into})} />
  </div>
`

const Rows = ({draft, change}: FieldProps) => html`
  <${TextField} label="Rows" hint="Numbers and ranges, without the header: 3, 10-20" value=${draft.rows} onInput=${(rows: string) => change({rows})} />
`

const Expression = ({draft, change}: FieldProps) => html`
  <${TextArea} label="Exclude rows for which this is true" hint="A JavaScript expression, such as row['Status'] === 'closed'" value=${draft.expression} onInput=${(expression: string) => change({expression})} />
`

const fields = {
  columns: Columns,
  someColumns: SomeColumns,
  replace: Replace,
  split: Split,
  rows: Rows,
  expression: Expression,
  ignoreCase: IgnoreCase,
}
