import {useEffect, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/options.ts'
import {Check, Select, TextField} from '../ui/field.ts'
import type {Module} from './fields.ts'
import {type Issue, issuesAt, sayIssue} from './flows.ts'
import type {Flow} from './import.ts'
import {errorAt} from './mapping-modes.ts'
import {optionsOf, splitTags} from './option-choices.ts'

type Props = {flow: Flow; module: Module | undefined; issues: Issue[]; change: (flow: Flow) => void}

/** The inputs for the write options of a flow. Renders nothing if the connection supports no write options. */
export const WriteOptions = ({flow, module, issues, change}: Props) => {
  if (module?.hasWriteOptions === false) return null
  const {automations = false, layout = null, assignmentRule = null, tags = []} = flow
  const isSet =
    flow.matchBy !== undefined || flow.writeBy !== undefined || automations || layout !== null || assignmentRule !== null || tags.length > 0
  return html`
    <details open=${isSet}>
      <summary>${t.options}</summary>
      <div class="opened">
        <${Check}
          label=${t.runTheCrmsAutomations}
          hint=${t.workflowsApprovalsAndBlueprintsRun}
          checked=${automations}
          onChange=${(on: boolean) => change({...flow, automations: on})}
        />
        ${
          !flow.subform &&
          html`
            <${Select}
              label=${t.layout}
              hint=${t.fieldsThatAreNotOnTheLayout}
              error=${errorAt(issues, 'layout')}
              value=${layout ?? ''}
              options=${optionsOf(module?.layouts, layout, t.theCrmsDefault)}
              onChange=${(id: string) => change({...flow, layout: id || null})}
            />
            <${Select}
              label=${t.assignmentRule}
              hint=${t.choosesTheOwnerOfNewRecords}
              error=${errorAt(issues, 'assignmentRule')}
              value=${assignmentRule ?? ''}
              options=${optionsOf(module?.assignmentRules, assignmentRule, t.none)}
              onChange=${(id: string) => change({...flow, assignmentRule: id || null})}
            />
            <${RouteFields} flow=${flow} issues=${issues} change=${change} />
            <${TagsField} tags=${tags} error=${issuesAt(issues, 'tags').map(sayIssue)[0]} onTyped=${(typed: string[]) => change({...flow, tags: typed})} />
          `
        }
      </div>
    </details>
  `
}

type RouteProps = Pick<Props, 'flow' | 'issues' | 'change'>

/**
 * The inputs for the run route of a flow. Bulk jobs may run automations, so they are offered only if the flow allows automations or already uses
 * jobs.
 */
const RouteFields = ({flow, issues, change}: RouteProps) => {
  const {matchBy, writeBy, ...rest} = flow
  const mayUseJobs = flow.automations === true || writeBy !== undefined
  return html`
    ${flow.match && html`<${Select} label=${t.findRecords} hint=${t.anExportCostsLessForLargeFiles} value=${matchBy ?? ''} options=${matchRoutes} onChange=${(value: string) => change({...rest, ...(writeBy && {writeBy}), ...(value !== '' && {matchBy: value as NonNullable<Flow['matchBy']>})})} />`}
    ${mayUseJobs && html`<${Select} label=${t.writeRecords} hint=${t.bulkJobsMayRunAutomations} error=${errorAt(issues, 'writeBy')} value=${writeBy ?? ''} options=${writeRoutes} onChange=${(value: string) => change({...rest, ...(matchBy && {matchBy}), ...(value !== '' && {writeBy: value as NonNullable<Flow['writeBy']>})})} />`}
  `
}

const matchRoutes = [
  {value: '', label: t.byQueries},
  {value: 'snapshot', label: t.inAnExportOfTheModule},
  {value: 'auto', label: t.theCheaperWay},
]
const writeRoutes = [
  {value: '', label: t.byRecordCalls},
  {value: 'bulk', label: t.byBulkJobs},
  {value: 'auto', label: t.theCheaperWay},
]

type TagsProps = {tags: string[]; error: string | undefined; onTyped: (tags: string[]) => void}

/** The tags as text. Each change updates the tags of the flow. The text is not reformatted while the person types. */
const TagsField = ({tags, error, onTyped}: TagsProps) => {
  const [text, setText] = useState(tags.join(', '))
  const saved = tags.join(', ')
  useEffect(() => {
    if (splitTags(text).join(', ') !== saved) setText(saved)
  }, [saved])
  const type = (typed: string) => {
    setText(typed)
    onTyped(splitTags(typed))
  }
  return html`<${TextField} label=${t.tags} hint=${t.separateTagsWithCommasWritten} error=${error} value=${text} onInput=${type} />`
}
