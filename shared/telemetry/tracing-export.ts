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
import type {Config} from '../config.ts'

type ExportedSpans = Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_SERVICE_NAME' | 'OTEL_TRACES_SAMPLER_ARG'>

const tellEveryMs = 2_000
const withinMs = 5_000

/**
 * Opens OpenTelemetry's SDK, which is loaded only if tracing is configured (20 MB of packages). While a collector is unavailable, at most 8,192 spans
 * wait, and further spans are dropped. The exporter reads headers, certificates and compression from the `OTEL_EXPORTER_OTLP_…` variables. The
 * provider is not registered globally, because libraries would then send spans with SQL in them.
 */
export const openExport = async (config: ExportedSpans, part: string): Promise<{tracer: Tracer; close(): Promise<void>}> => {
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
      remoteParentSampled: requestSampler(config.OTEL_TRACES_SAMPLER_ARG),
    }),
    spanProcessors: [
      new BatchSpanProcessor({exporter, scheduledDelayMillis: tellEveryMs, exportTimeoutMillis: withinMs, maxQueueSize: 8_192}),
    ],
  })
  return {tracer: provider.getTracer('lading'), close: () => provider.shutdown()}
}

/**
 * Decides whether to sample a span whose parent in another process is sampled. A request is sampled with probability `share`, because any client
 * can send such a parent. All other spans, such as those of jobs, are sampled.
 */
const requestSampler = (share: number): Sampler => ({
  shouldSample: (_context, _traceId, _name, kind) => ({
    decision: kind !== SpanKind.SERVER || Math.random() < share ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  }),
  toString: () => `ShareOfRequests{${share}}`,
})
