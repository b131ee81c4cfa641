import {html} from '../html.ts'
import {t} from '../text/reading.ts'
import {Check, Select, TextArea, TextField} from '../ui/field.ts'
import type {StepDraft, StepKind} from './cleaning.ts'
import {ColumnsField} from './columns-field.ts'

type Props = {draft: StepDraft; asks: StepKind['asks']; columns: string[]; change: (changes: Partial<StepDraft>) => void}

export const StepFields = ({draft, asks, columns, change}: Props) =>
  asks.map(ask => html`<${fields[ask]} key=${ask} draft=${draft} columns=${columns} change=${change} />`)

type FieldProps = Omit<Props, 'asks'>

const Columns = ({draft, columns, change}: FieldProps) => html`
  <${ColumnsField} label=${t.columns} hint=${t.chooseNoneForAllColumns} columns=${columns} chosen=${draft.columns} onChange=${(chosen: string[]) => change({columns: chosen})} />
`

const SomeColumns = ({draft, columns, change}: FieldProps) => html`
  <${ColumnsField} label=${t.columns} columns=${columns} chosen=${draft.columns} onChange=${(chosen: string[]) => change({columns: chosen})} />
`

const Replace = ({draft, change}: FieldProps) => html`
  <div class="columns">
    <${TextField} label=${t.find} value=${draft.find} onInput=${(find: string) => change({find})} />
    <${TextField} label=${t.replaceWith} value=${draft.with} onInput=${(text: string) => change({with: text})} />
  </div>
  <${Check} label=${t.regularExpression} hint=${t.re2Syntax} checked=${draft.regex} onChange=${(regex: boolean) => change({regex})} />
  <${IgnoreCase} draft=${draft} columns=${[]} change=${change} />
`

const IgnoreCase = ({draft, change}: FieldProps) => html`
  <${Check} label=${t.ignoreCase} checked=${draft.ignoreCase} onChange=${(ignoreCase: boolean) => change({ignoreCase})} />
`

const Split = ({draft, columns, change}: FieldProps) => html`
  <div class="columns">
    <${Select} label=${t.columnLabel} value=${draft.column} options=${[{value: '', label: t.choose}, ...columns.map(name => ({value: name, label: name}))]} onChange=${(column: string) => change({column})} />
    <${TextField} label=${t.separator} hint=${t.aSpaceACommaOrAnyText} value=${draft.separator} onInput=${(separator: string) => change({separator})} />
    <${TextField} label=${t.newColumns} hint=${t.namesSeparatedByCommasTheLast} value=${draft.into} onInput=${(into: string) => change({into})} />
  </div>
`

const Rows = ({draft, change}: FieldProps) => html`
  <${TextField} label=${t.rows} hint=${t.numbersAndRangesWithoutTheHeader3} value=${draft.rows} onInput=${(rows: string) => change({rows})} />
`

const Expression = ({draft, change}: FieldProps) => html`
  <${TextArea} label=${t.excludeRowsForWhichThisIsTrue} hint=${t.aJavascriptExpressionSuchAsRow} value=${draft.expression} onInput=${(expression: string) => change({expression})} />
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
