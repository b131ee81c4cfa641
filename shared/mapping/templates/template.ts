import {isDeepStrictEqual} from 'node:util'
import {z} from 'zod'
import {VerifyMode} from '../../../sql/runs.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import {findRepeated, type Issue} from '../../configuration/annotation.ts'
import {Choices} from '../../files/choices.ts'
import {Cleaning, namesRows} from '../../files/cleaning/cleaning.ts'
import {ReaderOptions} from '../../files/reader.ts'
import {isOneLine, notOneLine, oneLine, toOneLine} from '../../schema/name.ts'
import {DataContract, listUnknownSlots} from '../data-contracts/contract.ts'
import {Flows} from '../flows/flow.ts'
import {parentOf} from '../flows/subform.ts'

/** Maximum number of bytes of a template as JSON, small enough for one request body. */
const templateBytes = 500_000
/** Maximum number of columns of a file: the maximum width of a workbook. */
const mostColumns = 16_384

const Label = z.string().min(1).max(255)

const RuleSteps = Cleaning.refine(
  steps => !steps.some(namesRows),
  'A template cannot name rows by number, because the next file has other rows there. Leave strikeRows and editCells out',
)

export const TemplateSlot = z
  .strictObject({
    slot: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'Letters, digits, _ and -, at most 64')
      .describe('The name of the file in the flows'),
    label: Label.describe('Display name'),
    reader: ReaderOptions.default({}).describe('How the file is read; options that are left out are detected in each file'),
    cleaning: RuleSteps.default([]).describe('Cleaning steps, in order; not `strikeRows` or `editCells`'),
    choices: Choices.default({}).describe('By column: the choices of a user where its values are ambiguous'),
    columns: z.array(z.string().max(1000)).max(mostColumns).describe('The file’s own columns, in file order'),
  })
  .meta({id: 'Slot', description: 'A file that imports of the template need'})
export type TemplateSlot = z.output<typeof TemplateSlot>

/** A template contains no data of rows: no samples, no file names, no choices for single rows. */
export const Template = z
  .strictObject({
    name: oneLine(z.string().trim().min(1).max(200)).describe('Display name, unique among the shared templates of an org'),
    description: z
      .string()
      .max(2_000)
      .nullish()
      .transform(text => text ?? null)
      .describe('The purpose of the template'),
    connectorId: z
      .string()
      .max(100)
      .nullish()
      .transform(id => id ?? null)
      .describe('The connection of its imports; null: each import names one'),
    sources: z.array(TemplateSlot).min(1).max(20).describe('The files that an import needs'),
    flows: Flows.describe('The flows. The `sourceId` of a flow is the slot of one of the sources'),
    verify: VerifyMode.optional().describe(
      'Which written rows the runs read back, unless a run or its schedule says otherwise. Left out: unchanged, `off` for a new template',
    ),
  })
  .superRefine((template, context) => {
    for (const {path, message} of contradictions(template)) context.addIssue({code: 'custom', path, message})
  })
export type Template = z.output<typeof Template>

export const BundledTemplate = Template.safeExtend({
  contract: DataContract.optional().describe('The data contract. Left out: unchanged'),
}).superRefine(({sources, contract}, context) => {
  for (const at of contract ? listUnknownSlots(contract, sources) : [])
    context.addIssue({code: 'custom', path: ['contract', 'sources', at, 'slot'], message: 'The template has no such slot'})
})
export type BundledTemplate = z.output<typeof BundledTemplate>

type Inside = {sources: Pick<TemplateSlot, 'slot' | 'label'>[]; flows: z.output<typeof Flows>}

/** Lists errors that the schemas of single parts do not find, such as repeated names. */
const contradictions = (template: Inside): Pick<Issue, 'path' | 'message'>[] => {
  const {sources, flows} = template
  const slots = sources.map(({slot}) => slot)
  const [known, ids] = [new Set(slots), new Set(flows.map(({id}) => id))]
  return [
    ...sources.flatMap(({label}, at) => (isOneLine(label) ? [] : [{path: ['sources', at, 'label'], message: notOneLine}])),
    ...findRepeated(slots).map(at => ({path: ['sources', at, 'slot'], message: 'Another source has this slot'})),
    ...findRepeated(flows.map(({id}) => id)).map(at => ({path: ['flows', at, 'id'], message: 'Another flow has this id'})),
    ...flows.flatMap(({sourceId}, at) =>
      known.has(sourceId) ? [] : [{path: ['flows', at, 'sourceId'], message: 'The sourceId must be the slot of one of the sources'}],
    ),
    ...flows.flatMap((flow, at) => {
      const parent = parentOf(flow)
      if (!parent || ids.has(parent.flow)) return []
      const place = flow.subform ? ['subform', 'parentFlow'] : ['parent', 'flow']
      return [{path: ['flows', at, ...place], message: `There is no flow ${parent.flow}`}]
    }),
    ...(Buffer.byteLength(JSON.stringify(template)) > templateBytes
      ? [{path: [], message: `A template has at most ${templateBytes} bytes as JSON`}]
      : []),
  ]
}

export const documentOf = ({name, description, connectorId, sources, flows, verify}: TemplateRow): Template =>
  Template.parse({
    name: toOneLine(name),
    description,
    connectorId,
    flows,
    verify,
    sources: (sources as {label: string}[]).map(source => ({...source, label: toOneLine(source.label)})),
  })

/** `verify` is not compared, because a change of `verify` makes no new version. */
export const isSameContent = (template: TemplateRow, document: Template): boolean =>
  isDeepStrictEqual(documentOf(template), {...document, verify: template.verify})
