import {z} from 'zod'
import {EmbedOrigin} from '../embed/origin.ts'
import {isZone} from '../expressions/zone-offset.ts'
import {OnEdited} from '../mapping/flows/edits.ts'
import {RunGuard} from '../runs/guard/guard.ts'
import {isExact, notExact} from '../schema/exact-numbers.ts'

export const AI_SAMPLE_POLICIES = ['allow', 'masked', 'deny'] as const
/**
 * The part of rows that a model may see. `allow`: the values of columns that are not personal. `masked`: of these, only columns whose names and
 * values do not suggest people or prose. Both policies show other columns as shapes. `deny`: only column names.
 */
export type AiSamplePolicy = (typeof AI_SAMPLE_POLICIES)[number]

const contextCharacters = 64 * 1024

/** A date format with day, month and year, each once and in any order: `yyyy-MM-dd`, `dd.MM.yyyy`, `M/d/yy`. */
const DateFormat = z
  .string()
  .max(20)
  .refine(format => {
    const parts = format.split(/[./\- ]/)
    return (
      parts.length === 3 && [/^(d{1,2}|D{1,2})$/, /^M{1,2}$/, /^(yy|yyyy|YY|YYYY)$/].every(part => parts.some(given => part.test(given)))
    )
  }, 'Use day (d, dd), month (M, MM) and year (yy, yyyy) once each, with . / - or a space between. D and Y may be capitals')

const Timezone = z.string().max(100).refine(isZone, 'Name a time zone, such as Europe/Berlin')

/** The object `context` of expressions, which contains only JSON values. */
const ExpressionContext = z
  .record(z.string(), z.unknown() as z.ZodType<z.core.util.JSONType>)
  .refine(context => JSON.stringify(context).length <= contextCharacters, `At most ${contextCharacters} characters of JSON`)
  .refine(isExact, notExact)

export const Settings = z.strictObject({
  dateFormat: DateFormat.describe(
    'The format of dates: day (d, dd), month (M, MM) and year (yy, yyyy) once each, with . / - or a space between. `DD.MM.YYYY` is the same as `dd.MM.yyyy`',
  ),
  timezone: Timezone.describe('An IANA time zone, such as `Europe/Berlin`'),
  expressionContext: ExpressionContext.describe(
    `The object \`context\` of expressions: any JSON of at most ${contextCharacters} characters, with numbers of 2^53 or more as text`,
  ),
  aiSamplePolicy: z
    .enum(AI_SAMPLE_POLICIES)
    .describe(
      'The parts of the org’s rows that may reach a model. `allow`: values that are not personal; `masked`: values of columns whose name and content do not look personal; `deny`: only column names. Personal data leaves at most as shapes',
    ),
  onEdited: OnEdited.nullish().describe(
    'What imports do with values that a person edited in the CRM: overwrite them, keep them, or hold the row back and ask. Null: schedules keep them and other runs overwrite them',
  ),
  guard: RunGuard.nullish().describe(
    'Holds runs of which more rows than these shares end badly, until a person resumes them. Null: schedules are held after 5 % refused or 1 % unanswered rows, and other runs never',
  ),
  approvalAbove: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .nullish()
    .describe(
      'A run that may write more rows needs a sealed plan that another admin approved, and a schedule an approved version of its template. Absent or null: no run needs approval. Not for external runs and undos',
    ),
  undo: z
    .enum(['on', 'off'])
    .nullish()
    .describe(
      'Whether runs store the values that they replace, sealed, so that they can be undone. `off`: they store none. Absent or null: `on`',
    ),
  embedOrigins: z
    .array(EmbedOrigin)
    .max(20)
    .refine(origins => new Set(origins).size === origins.length, 'Name each origin once')
    .nullish()
    .describe(
      'The origins whose pages may embed imports of the org, at most 20. Removing an origin ends its embed tokens. Absent or null: none',
    ),
})
export type Settings = z.output<typeof Settings>

export const usualSettings: Settings = {
  dateFormat: 'yyyy-MM-dd',
  timezone: 'UTC',
  expressionContext: {},
  aiSamplePolicy: 'masked',
  onEdited: null,
  undo: null,
  guard: null,
  approvalAbove: null,
  embedOrigins: null,
}
