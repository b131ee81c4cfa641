import {randomUUID} from 'node:crypto'
import {hostname} from 'node:os'
import {SpanKind, type Tracer} from '@opentelemetry/api'
import {OTLPTraceExporter} from '@opentelemetry/exporter-trace-otlp-http'
import {resourceFromAttributes} from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type {Config} from './config.ts'

type Exported = Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_SERVICE_NAME' | 'OTEL_TRACES_SAMPLER_ARG'>

const tellEveryMs = 2_000
const withinMs = 5_000

/**
 * OpenTelemetry's SDK, loaded by those alone who trace (20 MB of packages). Spans leave in the background, 512 at a time; a collector
 * that is away costs spans and nothing else: at most 8,192 wait, and what comes after is dropped. Headers, certificates and compression are
 * the exporter's own, by its standard `OTEL_EXPORTER_OTLP_…` variables. The provider is not made the process's: libraries would send
 * spans of their own, with SQL in them.
 */
export const openExport = async (config: Exported, part: string): Promise<{tracer: Tracer; close(): Promise<void>}> => {
  const url = `${config.OTEL_EXPORTER_OTLP_ENDPOINT!.replace(/\/$/, '')}/v1/traces`
  const exporter = new OTLPTraceExporter({url, timeoutMillis: withinMs})
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': config.OTEL_SERVICE_NAME,
      'service.namespace': part,
      'service.instance.id': `${hostname()}:${process.pid}:${randomUUID()}`,
    }),
    sampler: new ParentBasedSampler({
      root: new TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG),
      remoteParentSampled: shareOfRequests(config.OTEL_TRACES_SAMPLER_ARG),
    }),
    spanProcessors: [
      new BatchSpanProcessor({exporter, scheduledDelayMillis: tellEveryMs, exportTimeoutMillis: withinMs, maxQueueSize: 8_192}),
    ],
  })
  return {tracer: provider.getTracer('lading'), close: () => provider.shutdown()}
}

/** A request that asks to be traced is so as often as one that does not, whatever trace id it chose: anybody may ask. A job is as its request was. */
const shareOfRequests = (share: number): Sampler => ({
  shouldSample: (_context, _traceId, _name, kind) => ({
    decision: kind !== SpanKind.SERVER || Math.random() < share ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  }),
  toString: () => `ShareOfRequests{${share}}`,
})
