import {z} from 'zod'
import type {TemplateRow} from '../../sql/templates.ts'
import {Flows} from '../flows/flow.ts'
import {parentOf} from '../flows/subform.ts'
import {Choices} from '../imports/choices.ts'
import {Cleaning} from '../imports/cleaning.ts'
import {ReaderOptions} from '../imports/reader.ts'
import {oneLine, toOneLine} from '../name.ts'
import {findRepeated, type Issue} from '../registry/annotation.ts'

/** As JSON. What fits is small enough to be sent back in one body. */
const templateBytes = 500_000
/** As wide as a workbook can be. */
const mostColumns = 16_384

const Label = z.string().min(1).max(255)

/** Row numbers are one file's: in the next one other rows have them. */
const RuleSteps = Cleaning.refine(
  steps => steps.every(({step}) => step !== 'strikeRows'),
  'A template strikes no rows by number: the next file has others there',
)

/** A file that an import is given, before there is one. `reader`: what is not sniffed. `columns`: the file's own, as they stand in it. */
export const Slot = z
  .strictObject({
    slot: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'Letters, digits, _ and -, at most 64')
      .describe('What flows call the file by'),
    label: Label.describe('What people call it'),
    reader: ReaderOptions.default({}).describe('How it is read; what is left out is sniffed from each file anew'),
    cleaning: RuleSteps.default([]).describe('What is done to its rows before they are read, in order; no rows are struck by number'),
    choices: Choices.default({}).describe('By column: what a person decided where its values leave it open'),
    columns: z.array(z.string().max(1000)).max(mostColumns).describe('The file’s own columns, as they stand in it'),
  })
  .meta({id: 'Slot', description: 'A file that an import of the template is given'})
export type Slot = z.output<typeof Slot>

/**
 * What is done with files of one kind: a flow's `sourceId` is the slot it reads. Nothing in it comes from a file's rows: no samples, no
 * names of files, nothing picked row by row.
 */
export const Template = z
  .strictObject({
    name: oneLine(z.string().trim().min(1).max(200)).describe('What people call it; shared templates of an org have names of their own'),
    description: z
      .string()
      .max(2_000)
      .nullish()
      .transform(text => text ?? null)
      .describe('What it is for'),
    connectorId: z
      .string()
      .max(100)
      .nullish()
      .transform(id => id ?? null)
      .describe('The connection its imports are of; null: whichever they name'),
    sources: z.array(Slot).min(1).max(20).describe('The files an import is given'),
    flows: Flows.describe('What is done with them: the `sourceId` of a flow is the slot of one of the sources'),
  })
  .superRefine((template, context) => {
    for (const {path, message} of contradictions(template)) context.addIssue({code: 'custom', path, message})
  })
export type Template = z.output<typeof Template>

type Inside = {sources: Pick<Slot, 'slot'>[]; flows: z.output<typeof Flows>}

/** What no part shows by itself. */
const contradictions = (template: Inside): Pick<Issue, 'path' | 'message'>[] => {
  const {sources, flows} = template
  const slots = sources.map(({slot}) => slot)
  const [known, ids] = [new Set(slots), new Set(flows.map(({id}) => id))]
  return [
    ...findRepeated(slots).map(at => ({path: ['sources', at, 'slot'], message: 'Another source has this slot'})),
    ...findRepeated(flows.map(({id}) => id)).map(at => ({path: ['flows', at, 'id'], message: 'Another flow has this id'})),
    ...flows.flatMap(({sourceId}, at) =>
      known.has(sourceId) ? [] : [{path: ['flows', at, 'sourceId'], message: 'The sourceId of a flow is the slot of one of the sources'}],
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

/** What is stored of one, as a document again. */
export const documentOf = ({name, description, connectorId, sources, flows}: TemplateRow): Template =>
  Template.parse({name: toOneLine(name), description, connectorId, sources, flows})
