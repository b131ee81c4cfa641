import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

/**
 * The limits and behaviour of a CRM org that the doctor found and the adapter keeps to. An absent or unknown value gets a default from the
 * vendor's pages up to API version 7. The overview of version 8 names higher limits for some values.
 */
export const Capabilities = z.object({
  /** Maximum number of values in one `in` of a COQL query. */
  coqlInSize: z.int().min(10).max(1_000).catch(50),
  /** Maximum number of `in` conditions in one COQL query. */
  coqlInLists: z.int().min(1).max(20).catch(10),
  /** Maximum number of columns in one COQL query. */
  coqlColumns: z.int().min(10).max(1_000).catch(50),
  /** The form in which a COQL query escapes a quote inside a text. */
  coqlQuote: z.enum(['doubled', 'backslash']).catch('doubled'),
  /** The form in which a COQL query writes a time range: with `between` or two comparisons, with an offset or Z. */
  coqlWindow: z.enum(['between-offset', 'between-z', 'pair-offset', 'pair-z']).catch('between-offset'),
  /** The longest observed time in seconds until a query found a new record. 0: never measured. */
  coqlLagSeconds: z.number().min(0).max(600).catch(0),
  /**
   * What the CRM refuses if one record of a batch changed after `If-Unmodified-Since`. `whole`: the whole batch. `record`: that record.
   * `ignored`: nothing. Null: never checked.
   */
  unmodifiedSince: z.enum(['whole', 'record', 'ignored']).nullable().catch(null),
})
export type Capabilities = z.output<typeof Capabilities>

const Probe = z.object({
  id: z.string(),
  fact: z.string(),
  expected: z.string(),
  seen: z.string(),
  verdict: z.enum(['expected', 'different', 'unknown']),
  consequence: z.string(),
})
export type ProbeResult = z.output<typeof Probe>

export const DoctorReport = z.object({
  write: z.boolean(),
  /** The CRM's API credits that the probes cost. */
  credits: z.int(),
  probes: z.array(Probe),
  capabilities: Capabilities,
})
export type DoctorReport = z.output<typeof DoctorReport>

const Row = DoctorReport.extend({ranAt: z.string()})
export type DoctorReportRow = z.output<typeof Row>

/** Returns null if the doctor has not run on this connection. */
export const findDoctorReport = async (db: Db, connector: string): Promise<DoctorReportRow | null> => {
  const row = await db.maybeOne(sql.type(z.object({report: DoctorReport, ranAt: z.string()}))`
    select report, ran_at as "ranAt" from doctor_reports where connector_id = ${connector}`)
  return row && {...row.report, ranAt: row.ranAt}
}

/** Replaces the connection's doctor report and capabilities. */
export const keepDoctorReport = async (tx: Tx, {connector, report}: {connector: string; report: DoctorReport}) => {
  await tx.query(sql.type(z.object({}))`
    insert into doctor_reports (connector_id, report) values (${connector}, ${sql.jsonb(report)})
    on conflict (connector_id) do update set report = excluded.report, ran_at = lading_now()`)
  await tx.query(sql.type(z.object({}))`update connectors set capabilities = ${sql.jsonb(report.capabilities)} where id = ${connector}`)
}
