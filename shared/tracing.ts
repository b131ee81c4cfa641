import {AsyncLocalStorage} from 'node:async_hooks'
import {type Attributes, type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace} from '@opentelemetry/api'
import type {Config} from './config.ts'
import type {Log} from './log.ts'

/**
 * Spans of what happens to one request, from the API over its job to each call to the CRM, for whoever set OTEL_EXPORTER_OTLP_ENDPOINT.
 * Without it none of the SDK is loaded and a traced step costs one comparison. A span holds names of ours, codes and counts: no rows, no
 * addresses, no names of customers or of their modules.
 */
export type Mark = {set(attributes: Attributes): void; rename(name: string): void; fail(code: string): void}

const noMark: Mark = {set() {}, rename() {}, fail() {}}

type How = {
  kind?: 'server' | 'producer' | 'consumer' | 'client'
  attributes?: Attributes
  /** W3C `traceparent` of what caused this, where it was elsewhere. One that cannot be read is none. */
  parent?: string | undefined
}

let tracer: Tracer | null = null
const active = new AsyncLocalStorage<Context>()

/** Runs `work` as a step: under the step around it, or under `parent`, else as the first of a new trace. What it throws is its failure. */
export const traced = <T>(name: string, {kind, attributes = {}, parent}: How, work: (mark: Mark) => T): T => {
  if (!tracer) return work(noMark)
  const context = readParent(parent) ?? active.getStore() ?? ROOT_CONTEXT
  const span = tracer.startSpan(name, {kind: KINDS[kind ?? 'internal'], attributes}, context)
  return active.run(trace.setSpan(context, span), () => endWith(span, work))
}

/** The step under way here, as it is handed to another process; undefined where there is none. */
export const traceparent = (): string | undefined => {
  const store = active.getStore()
  const span = store && trace.getSpanContext(store)
  return span && `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`
}

/** What logs name it by; undefined where nothing is traced. */
export const traceId = (): string | undefined => traceparent()?.split('-')[1]

type Tracing = {close(): Promise<void>}

type Traced = Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_SERVICE_NAME' | 'OTEL_TRACES_SAMPLER_ARG'>

/** Once per process, before anything is traced; `close` sends what is left, for at most a few seconds. */
export const openTracing = async (config: Traced, {log, part}: {log: Log; part: string}): Promise<Tracing> => {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return {close: async () => {}}
  const {openExport} = await import('./tracing-export.ts')
  const exporting = await openExport(config, part)
  tracer = exporting.tracer
  log.info({endpoint: new URL(config.OTEL_EXPORTER_OTLP_ENDPOINT).origin}, 'tracing')
  return {
    async close() {
      tracer = null
      await exporting.close().catch(err => log.warn({err}, 'last spans not sent'))
    },
  }
}

const KINDS = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
}

const PARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** Source: W3C Trace Context, 3.2. */
const readParent = (text: string | undefined): Context | null => {
  const [, traceId, spanId, flags] = PARENT.exec(text ?? '') ?? []
  if (!traceId || !spanId) return null
  return trace.setSpanContext(ROOT_CONTEXT, {traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote: true})
}

const endWith = <T>(span: Span, work: (mark: Mark) => T): T => {
  const mark: Mark = {
    set: attributes => void span.setAttributes(attributes),
    rename: name => void span.updateName(name),
    fail: code => void span.setStatus({code: SpanStatusCode.ERROR, message: code}),
  }
  // An error's message may name what was sent: its name and code say enough.
  const failed = (error: unknown): never => {
    mark.fail(error instanceof Error ? error.name : 'unknown')
    span.end()
    throw error
  }
  try {
    const result = work(mark)
    if (!(result instanceof Promise)) {
      span.end()
      return result
    }
    return result.then(value => {
      span.end()
      return value
    }, failed) as T
  } catch (error) {
    return failed(error)
  }
}
