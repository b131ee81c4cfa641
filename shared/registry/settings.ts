import {z} from 'zod'
import {isZone} from '../expressions/zone-offset.ts'

export const AI_SAMPLE_POLICIES = ['allow', 'masked', 'deny'] as const
/** What of an org's rows may reach a model: values, their shapes, or nothing. */
export type AiSamplePolicy = (typeof AI_SAMPLE_POLICIES)[number]

const contextCharacters = 64 * 1024

/** Day, month and year once each, in any order: `yyyy-MM-dd`, `dd.MM.yyyy`, `M/d/yy`. */
const DateFormat = z
  .string()
  .max(20)
  .refine(format => {
    const parts = format.split(/[./\- ]/)
    return (
      parts.length === 3 && [/^(d{1,2}|D{1,2})$/, /^M{1,2}$/, /^(yy|yyyy|YY|YYYY)$/].every(part => parts.some(given => part.test(given)))
    )
  }, 'Day (d, dd), month (M, MM) and year (yy, yyyy) once each, with . / - or a space between. D and Y may be capitals')

const Timezone = z.string().max(100).refine(isZone, 'Name a time zone, such as Europe/Berlin')

/** What expressions see as `context`. It comes from a JSON body, so whatever it holds is JSON. */
const ExpressionContext = z
  .record(z.string(), z.unknown() as z.ZodType<z.core.util.JSONType>)
  .refine(context => JSON.stringify(context).length <= contextCharacters, `At most ${contextCharacters} characters of JSON`)

/** The settings of an org that its registry carries. */
export const Settings = z.strictObject({
  dateFormat: DateFormat.describe(
    'How dates are shown: day (d, dd), month (M, MM) and year (yy, yyyy) once each, with . / - or a space between. `DD.MM.YYYY` is the same as `dd.MM.yyyy`',
  ),
  timezone: Timezone.describe('A time zone of the IANA’s list, such as `Europe/Berlin`'),
  expressionContext: ExpressionContext.describe(
    `What expressions see as \`context\`: any JSON, at most ${contextCharacters} characters of it`,
  ),
  aiSamplePolicy: z
    .enum(AI_SAMPLE_POLICIES)
    .describe(
      'What of the org’s rows may reach a model. `allow`: values that are not personal; `masked`: values of columns that neither are called nor look as people’s do; `deny`: nothing but the names of columns. Personal data leaves as shapes at most',
    ),
})
export type Settings = z.output<typeof Settings>

export const usualSettings: Settings = {dateFormat: 'yyyy-MM-dd', timezone: 'UTC', expressionContext: {}, aiSamplePolicy: 'masked'}
