{{- define "hcert.labels" -}}
app.kubernetes.io/name: hcert
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
