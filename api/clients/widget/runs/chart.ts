import {useEffect, useRef} from 'preact/hooks'
import uPlot from 'uplot'
import {html} from '../html.ts'
import {theme} from '../state/theme.ts'
import {currentLocale} from '../text/language.ts'
import {count} from '../ui/format.ts'
import {chartParts, type Sample, stack} from './rate.ts'

const height = 180

/** A stacked chart of rows by outcome over time. Screen readers skip the chart, because the table beside it has the same numbers. */
export const OutcomeChart = ({samples}: {samples: Sample[]}) => {
  const frame = useRef<HTMLDivElement>(null)
  const legend = useRef<HTMLUListElement>(null)
  const chart = useRef<uPlot | null>(null)
  const data = useRef(samples)
  data.current = samples
  const scheme = theme.value
  useEffect(() => {
    const draw = () => {
      chart.current?.destroy()
      if (frame.current && legend.current) chart.current = openChart(frame.current, legend.current, data.current)
    }
    draw()
    const isDark = matchMedia('(prefers-color-scheme: dark)')
    const watched = new ResizeObserver(() => frame.current && chart.current?.setSize({width: frame.current.clientWidth, height}))
    watched.observe(frame.current!)
    isDark.addEventListener('change', draw)
    return () => {
      watched.disconnect()
      isDark.removeEventListener('change', draw)
      chart.current?.destroy()
      chart.current = null
    }
  }, [scheme])
  useEffect(() => chart.current?.setData(dataOf(samples)), [samples])
  const used = chartParts.filter((_, part) => samples.some(({parts}) => (parts[part] ?? 0) > 0))
  return html`
    <div class="run-chart">
      <div class="chart-frame" ref=${frame} aria-hidden="true"></div>
      <ul class="chart-legend" ref=${legend} aria-hidden="true">
        ${chartParts.map(part => html`<li class=${`${part.tone} ${used.includes(part) ? '' : 'unused'}`}>${part.label}</li>`)}
      </ul>
    </div>
  `
}

/** Upper parts are drawn first, because the area of each part reaches down to zero. */
const openChart = (frame: HTMLElement, legend: HTMLElement, samples: Sample[]): uPlot => {
  const colours = [...legend.children].map(item => getComputedStyle(item).borderInlineStartColor)
  const {color: text, borderTopColor: edge} = getComputedStyle(frame)
  const axis = {font: '12px system-ui', stroke: text, grid: {stroke: edge, width: 1}, ticks: {stroke: edge, width: 1}}
  const options: uPlot.Options = {
    width: frame.clientWidth,
    height,
    cursor: {show: false},
    legend: {show: false},
    scales: {x: {time: true}, y: {range: (_, __, most) => [0, Math.max(most, 1)]}},
    axes: [
      {...axis, space: 90, incrs: tickSeconds, values: (_, ticks) => ticks.map(sayTime)},
      {...axis, size: 56, values: (_, ticks) => ticks.map(tick => (Number.isInteger(tick) ? count(tick) : ''))},
    ],
    series: [{}, ...colours.toReversed().map(colour => ({stroke: colour, fill: colour, width: 1, points: {show: false}}))],
  }
  return new uPlot(options, dataOf(samples), frame)
}

const tickSeconds = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400]
const clock = new Intl.DateTimeFormat(currentLocale(), {timeStyle: 'medium'})
const sayTime = (seconds: number) => clock.format(seconds * 1000)

const dataOf = (samples: Sample[]): uPlot.AlignedData => {
  const [times = [], ...parts] = stack(samples)
  return [times, ...parts.toReversed()] as uPlot.AlignedData
}
