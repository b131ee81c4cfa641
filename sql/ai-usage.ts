import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export const AI_FEATURES = ['auto_map', 'formula', 'chat'] as const
export type AiFeature = (typeof AI_FEATURES)[number]

type NewAiUsage = {
  org: string
  periodStart: string
  feature: AiFeature
  failed: boolean
  inputTokens: number
  outputTokens: number
  credits: number
}

export const addAiUsage = (tx: Tx, {org, periodStart, feature, failed, inputTokens, outputTokens, credits}: NewAiUsage) =>
  tx.query(sql.type(z.object({}))`
    insert into ai_usage (org_id, period_start, day, feature, requests, failed, input_tokens, output_tokens, credits)
    values (${org}, ${periodStart}, (lading_now() at time zone 'UTC')::date, ${feature}, 1, ${failed ? 1 : 0}, ${inputTokens}, ${outputTokens}, ${credits})
    on conflict (org_id, period_start, feature, day) do update set requests = ai_usage.requests + 1, failed = ai_usage.failed + excluded.failed,
      input_tokens = ai_usage.input_tokens + excluded.input_tokens, output_tokens = ai_usage.output_tokens + excluded.output_tokens,
      credits = ai_usage.credits + excluded.credits`)

const Sums = z.object({
  feature: z.enum(AI_FEATURES),
  requests: z.number(),
  failed: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  credits: z.number(),
})

const sums = sql.fragment`feature, sum(requests)::int8 as requests, sum(failed)::int8 as failed, sum(input_tokens)::int8 as "inputTokens",
  sum(output_tokens)::int8 as "outputTokens", sum(credits)::int8 as credits`

export const listAiUsage = (db: Db, {org, periodStart}: {org: string; periodStart: string}) =>
  db.any(
    sql.type(Sums)`select ${sums} from ai_usage where org_id = ${org} and period_start = ${periodStart} group by feature order by feature`,
  )

const Day = Sums.extend({day: z.string()})

/** Lists the AI usage of the last `days` days by day and feature, newest day first, for one org or for all orgs. */
export const listAiDays = (db: Db, {org, days}: {org: string | null; days: number}) =>
  db.any(sql.type(Day)`
    select day::text, ${sums} from ai_usage
    where day > (lading_now() at time zone 'UTC')::date - ${days}::int and (${org}::text is null or org_id = ${org})
    group by day, feature order by day desc, feature`)

export const deleteOldAiUsage = async (db: Db, {days}: {days: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from ai_usage where day < (lading_now() at time zone 'UTC')::date - ${days}::int`)
  return rowCount
}
