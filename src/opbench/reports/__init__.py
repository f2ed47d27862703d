"""What people see: tables and exports."""
