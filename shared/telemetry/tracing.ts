import {AsyncLocalStorage} from 'node:async_hooks'
import {type Attributes, type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace} from '@opentelemetry/api'
import type {Config} from '../config.ts'
import type {Log} from './log.ts'

/**
 * Changes the span of a traced step: sets attributes, renames the span, or marks it as failed with a code. Spans contain our own names, codes
 * and counts: no rows, no addresses, no names of customers or modules.
 */
export type TraceAttribute = {set(attributes: Attributes): void; rename(name: string): void; fail(code: string): void}

const noMark: TraceAttribute = {set() {}, rename() {}, fail() {}}

type TraceOptions = {
  kind?: 'server' | 'producer' | 'consumer' | 'client'
  attributes?: Attributes
  /** The W3C `traceparent` of the span in another process that caused this one. An invalid value is ignored. */
  parent?: string | undefined
}

let tracer: Tracer | null = null
const active = new AsyncLocalStorage<Context>()

/**
 * Runs `work` in a span: under `parent`, else under the current span, else as the root of a new trace. If `work` throws, the span is marked as
 * failed. Until `openTracing` has loaded the SDK, `work` runs without a span.
 */
export const traced = <T>(name: string, {kind, attributes = {}, parent}: TraceOptions, work: (mark: TraceAttribute) => T): T => {
  if (!tracer) return work(noMark)
  const context = readParent(parent) ?? active.getStore() ?? ROOT_CONTEXT
  const span = tracer.startSpan(name, {kind: KINDS[kind ?? 'internal'], attributes}, context)
  return active.run(trace.setSpan(context, span), () => endWith(span, work))
}

/** Returns the current span as `traceparent` for another process; undefined without a current span. */
export const traceparent = (): string | undefined => {
  const store = active.getStore()
  const span = store && trace.getSpanContext(store)
  return span && `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`
}

/** Returns the trace id for logs; undefined without a current span. */
export const traceId = (): string | undefined => traceparent()?.split('-')[1]

type Tracing = {close(): Promise<void>}

type TracedWork = Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_SERVICE_NAME' | 'OTEL_TRACES_SAMPLER_ARG'>

/**
 * Opens tracing, once per process and before the first span. Without a configured endpoint, nothing is traced. `close` sends the remaining
 * spans, for at most a few seconds.
 */
export const openTracing = async (config: TracedWork, {log, part}: {log: Log; part: string}): Promise<Tracing> => {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return {close: async () => {}}
  const {openExport} = await import('./tracing-export.ts')
  const exporting = await openExport(config, part)
  tracer = exporting.tracer
  log.info({endpoint: new URL(config.OTEL_EXPORTER_OTLP_ENDPOINT).origin}, 'tracing')
  return {
    async close() {
      tracer = null
      await exporting.close().catch(err => log.warn({err}, 'could not send the last spans'))
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

/** Parses a `traceparent` of another process; null if it is invalid. Source: W3C Trace Context, 3.2. */
const readParent = (text: string | undefined): Context | null => {
  const [, traceId, spanId, flags] = PARENT.exec(text ?? '') ?? []
  if (!traceId || !spanId) return null
  return trace.setSpanContext(ROOT_CONTEXT, {traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote: true})
}

const endWith = <T>(span: Span, work: (mark: TraceAttribute) => T): T => {
  const mark: TraceAttribute = {
    set: attributes => void span.setAttributes(attributes),
    rename: name => void span.updateName(name),
    fail: code => void span.setStatus({code: SpanStatusCode.ERROR, message: code}),
  }
  // An error's message may contain request data, so only its name and code are recorded.
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
